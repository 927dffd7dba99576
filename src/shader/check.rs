//! Checks the WGSL text of a user's operator: it must parse, validate and have the right function. Errors carry the line
//! and column of the user's own text.

use super::{front, library, source};
use crate::error::{Error, Result};

/// Names reserved for what the engine passes in, with their types.
const GIVEN: &[(&str, &str)] = &[("at", "vec2f"), ("extent", "vec2f")];

/// Validates the text of a custom operator whose function takes `first` (name and type) and returns `vec4f`. Returns the
/// names of its other parameters of type `f32`, which become parameters of the operator.
pub fn check_custom(operator: &str, wgsl: &str, first: (&str, String)) -> Result<Vec<String>> {
    let function_name = operator.replace('-', "_");
    let fail = |line: usize, column: usize, message: String| Error::Shader {
        operator: operator.into(),
        line,
        column,
        message,
    };
    let place = |needle: &str| {
        let offset = wgsl.find(needle).unwrap_or(0);
        let before = wgsl.get(..offset).unwrap_or("");
        let line = before.matches('\n').count() + 1;
        (line, offset - before.rfind('\n').map_or(0, |index| index + 1) + 1)
    };
    for declaration in source::declarations(wgsl) {
        if library::names().any(|name| name == declaration.name) {
            let (line, column) = place(&declaration.name);
            let message = format!("'{}' is a function of the library; choose another name", declaration.name);
            return Err(fail(line, column, message));
        }
    }
    // The library follows the user's text, so that positions in it stay as they are.
    let module_text = format!("{wgsl}\n{}", library::needed_by(wgsl));
    let (module, info) = front::module(&module_text).map_err(|mistake| mistake.of(operator))?;
    for (handle, function) in module.functions.iter() {
        if !info[handle].available_stages.contains(naga::valid::ShaderStages::COMPUTE) {
            let name = function.name.clone().unwrap_or_default();
            let (line, column) = place(&format!("fn {name}"));
            let message = format!("function '{name}': only fragment shaders can discard and have derivatives");
            return Err(fail(line, column, message));
        }
    }
    let signature = |message: String| {
        let (line, column) = place(&format!("fn {function_name}"));
        fail(line, column, message)
    };
    if let Some((_, variable)) = module.global_variables.iter().next() {
        let name = variable.name.clone().unwrap_or_default();
        let (line, column) = place(&name);
        return Err(fail(line, column, format!("module variable '{name}': an operator has no variables of its own")));
    }
    if !module.entry_points.is_empty() {
        return Err(fail(1, 1, "an operator is a plain function, without an entry point".into()));
    }
    let expected = format!("fn {function_name}({}: {}, ...) -> vec4f", first.0, first.1);
    let Some((_, function)) =
        module.functions.iter().find(|(_, function)| function.name.as_deref() == Some(&function_name))
    else {
        return Err(fail(1, 1, format!("no function '{function_name}'; expected {expected}")));
    };
    let type_name = |handle: naga::Handle<naga::Type>| module.types[handle].inner.clone();
    let of_text = |text: &str| -> Option<naga::TypeInner> {
        let parsed = naga::front::wgsl::parse_str(&format!("fn f(x: {text}) {{}}")).ok()?;
        let (_, function) = parsed.functions.iter().next()?;
        Some(parsed.types[function.arguments.first()?.ty].inner.clone())
    };
    let returns = function.result.as_ref().map(|result| type_name(result.ty));
    if returns != of_text("vec4f") {
        return Err(signature(format!("must return vec4f; expected {expected}")));
    }
    let mut parameters = Vec::new();
    for (index, argument) in function.arguments.iter().enumerate() {
        let name = argument.name.clone().unwrap_or_default();
        let found = type_name(argument.ty);
        if index == 0 {
            let fits = match first.0 {
                "window" => matches_window(&module, &found, &first.1),
                _ => Some(&found) == of_text(&first.1).as_ref(),
            };
            if name != first.0 || !fits {
                return Err(signature(format!("its first parameter must be '{}: {}'", first.0, first.1)));
            }
        } else if let Some((_, wanted)) = GIVEN.iter().find(|(given, _)| *given == name) {
            if Some(&found) != of_text(wanted).as_ref() {
                return Err(signature(format!("parameter '{name}' must be of type {wanted}")));
            }
        } else if Some(&found) == of_text("f32").as_ref() {
            parameters.push(name);
        } else {
            return Err(signature(format!("parameter '{name}' must be of type f32")));
        }
    }
    if function.arguments.is_empty() {
        return Err(signature(format!("it has no parameters; expected {expected}")));
    }
    Ok(parameters)
}

fn matches_window(module: &naga::Module, found: &naga::TypeInner, wanted: &str) -> bool {
    let naga::TypeInner::Array { base, size: naga::ArraySize::Constant(length), .. } = found else { return false };
    let is_vec4f = matches!(
        module.types[*base].inner,
        naga::TypeInner::Vector { size: naga::VectorSize::Quad, scalar: naga::Scalar::F32 }
    );
    is_vec4f && wanted == format!("array<vec4f, {length}>")
}
