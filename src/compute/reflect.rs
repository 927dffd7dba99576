//! What naga knows of a user's kernel: bindings, workgroup size, the layout of uniform blocks; and whether the device can run
//! it. Everything is said in words before the device sees the kernel. Knows no device.

use super::command::{BindingKind, UNIFORM_ALIGNMENT, UNIFORM_BYTES};
use crate::error::{Error, Result};
use crate::plan::recording::Limits;
use crate::shader::front;

/// A kernel's outside.
#[derive(Debug, Clone)]
pub(super) struct Interface {
    pub workgroup_size: [u32; 3],
    /// Bytes of workgroup memory.
    pub workgroup_memory: u64,
    pub bindings: Vec<Binding>,
}

/// One binding.
#[derive(Debug, Clone)]
pub(super) struct Binding {
    pub name: String,
    pub number: u32,
    pub kind: BindingKind,
    /// The whole type, in WGSL.
    pub wgsl: String,
    /// Of an array: its elements' WGSL type and the bytes from one to the next.
    pub element: Option<(String, u32)>,
    /// Fewest bytes that can be bound.
    pub size: u32,
    /// Of a block: name, WGSL type, offset and size of each member.
    pub members: Vec<(String, String, u32, u32)>,
}

/// WebGPU's limit of binding numbers.
const MOST_BINDINGS: u32 = 1000;

/// Parses and checks a module.
///
/// # Errors
/// [`Error::Shader`] with the place.
pub(super) fn parse(label: &str, text: &str) -> Result<naga::Module> {
    Ok(front::module(text).map_err(|mistake| mistake.of(label))?.0)
}

/// The one entry point, or the one of that name.
///
/// # Errors
/// [`Error::BadInput`] if there is none, or several and no name.
pub(super) fn entry_point<'a>(
    label: &str,
    module: &'a naga::Module,
    name: Option<&str>,
) -> Result<&'a naga::EntryPoint> {
    let compute: Vec<_> =
        module.entry_points.iter().filter(|entry| entry.stage == naga::ShaderStage::Compute).collect();
    let names = compute.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>().join(", ");
    let bad = |message: String| Error::BadInput { operator: label.to_string(), message };
    match (compute.as_slice(), name) {
        (entries, Some(name)) => entries
            .iter()
            .find(|entry| entry.name == name)
            .copied()
            .ok_or_else(|| bad(format!("no @compute entry point is named '{name}'; there are: {names}"))),
        ([one], None) => Ok(one),
        ([], None) => Err(bad("no @compute entry point".to_string())),
        (_, None) => Err(bad(format!("several entry points ({names}); name the one you want"))),
    }
}

/// Reads off a checked, specialised module.
///
/// # Errors
/// [`Error::BadInput`] for bindings that are no buffers, or not in group 0.
pub(super) fn interface(label: &str, module: &naga::Module, entry: &naga::EntryPoint) -> Result<Interface> {
    let bad = |message: String| Error::BadInput { operator: label.to_string(), message };
    let mut layouter = naga::proc::Layouter::default();
    layouter.update(module.to_ctx()).map_err(|error| bad(error.to_string()))?;
    let mut bindings = Vec::new();
    let mut workgroup_memory = 0;
    for (_, variable) in module.global_variables.iter() {
        let name = variable.name.clone().unwrap_or_default();
        let inner = &module.types[variable.ty].inner;
        let size = layouter[variable.ty].size;
        let kind = match variable.space {
            naga::AddressSpace::WorkGroup => {
                // Each variable begins at a multiple of 16.
                workgroup_memory += u64::from(size).next_multiple_of(16);
                continue;
            }
            naga::AddressSpace::Private => continue,
            naga::AddressSpace::Uniform => BindingKind::Uniform,
            naga::AddressSpace::Storage { access } if access.contains(naga::StorageAccess::STORE) => BindingKind::Write,
            naga::AddressSpace::Storage { .. } => BindingKind::Read,
            _ => return Err(bad(format!("'{name}' is neither a storage buffer nor a uniform block"))),
        };
        let Some(binding) = &variable.binding else { return Err(bad(format!("'{name}' has no @binding"))) };
        if binding.group != 0 {
            return Err(bad(format!("'{name}' is in @group({}); all bindings must be in @group(0)", binding.group)));
        }
        if binding.binding >= MOST_BINDINGS {
            let message = format!("'{name}' is @binding({}); numbers are below {MOST_BINDINGS}", binding.binding);
            return Err(bad(message));
        }
        let element = match inner {
            naga::TypeInner::Array { base, stride, .. } => Some((type_name(module, *base), *stride)),
            _ => None,
        };
        let members = match inner {
            naga::TypeInner::Struct { members, .. } => members
                .iter()
                .map(|member| {
                    let name = member.name.clone().unwrap_or_default();
                    (name, type_name(module, member.ty), member.offset, layouter[member.ty].size)
                })
                .collect(),
            _ => Vec::new(),
        };
        let wgsl = type_name(module, variable.ty);
        bindings.push(Binding { name, number: binding.binding, kind, wgsl, element, size, members });
    }
    bindings.sort_by_key(|binding| binding.number);
    Ok(Interface { workgroup_size: entry.workgroup_size, workgroup_memory, bindings })
}

fn type_name(module: &naga::Module, handle: naga::Handle<naga::Type>) -> String {
    use naga::{ArraySize, ScalarKind, TypeInner};
    let scalar = |scalar: &naga::Scalar| match scalar.kind {
        ScalarKind::Float => "f32",
        ScalarKind::Uint => "u32",
        ScalarKind::Sint => "i32",
        _ => "bool",
    };
    let kind = &module.types[handle];
    match &kind.inner {
        TypeInner::Scalar(one) => scalar(one).to_string(),
        TypeInner::Atomic(one) => format!("atomic<{}>", scalar(one)),
        TypeInner::Vector { size, scalar: one } => format!("vec{}<{}>", *size as u8, scalar(one)),
        TypeInner::Matrix { columns, rows, scalar: one } => {
            format!("mat{}x{}<{}>", *columns as u8, *rows as u8, scalar(one))
        }
        TypeInner::Array { base, size, .. } => match size {
            ArraySize::Constant(length) => format!("array<{}, {length}>", type_name(module, *base)),
            _ => format!("array<{}>", type_name(module, *base)),
        },
        _ => kind.name.clone().unwrap_or_else(|| "struct".to_string()),
    }
}

impl Interface {
    /// Whether a device with such limits can run it.
    ///
    /// # Errors
    /// [`Error::KernelLimit`] that names the limit, the device's value, and what would fit.
    pub fn check(&self, label: &str, limits: &Limits) -> Result<()> {
        let over = |limit: &'static str, found: u64, allowed: u64, fits: String| Error::KernelLimit {
            kernel: label.to_string(),
            limit,
            found,
            allowed,
            fits,
        };
        if let Some((limit, found, allowed)) = limits.exceeded_by(self.workgroup_size) {
            let most = limits.workgroup_invocations;
            let size = self.workgroup_size.into_iter().map(u64::from).product::<u64>();
            let fits = match size > u64::from(most) {
                true => format!("@workgroup_size({}) would fit", smaller(self.workgroup_size, most)),
                false => format!("at most {allowed} would fit"),
            };
            return Err(over(limit, found, allowed, fits));
        }
        let (found, allowed) = (self.workgroup_memory, u64::from(limits.workgroup_memory));
        if found > allowed {
            let fits = format!("{} floats would fit", allowed / 4);
            return Err(over("bytes of workgroup memory", found, allowed, fits));
        }
        let uniforms = self.bindings.iter().filter(|binding| binding.kind == BindingKind::Uniform);
        let sizes: Vec<u64> = uniforms.map(|binding| u64::from(binding.size)).collect();
        let largest = sizes.iter().copied().max().unwrap_or(0);
        let all = sizes.iter().map(|size| size.next_multiple_of(UNIFORM_ALIGNMENT)).sum::<u64>();
        for (limit, found, allowed) in [
            ("bytes of a uniform block", largest, limits.uniform_binding_size),
            ("bytes of uniform blocks", all, UNIFORM_BYTES),
        ] {
            if found > allowed {
                return Err(over(limit, found, allowed, "a storage buffer would fit".to_string()));
            }
        }
        let storage = self.bindings.iter().filter(|binding| binding.kind != BindingKind::Uniform).count() as u64;
        let allowed = u64::from(limits.storage_buffers);
        if storage > allowed {
            let fits = "put several arrays into one buffer, or split the kernel".to_string();
            return Err(over("storage buffers of a kernel", storage, allowed, fits));
        }
        Ok(())
    }
}

/// The size halved along its longest side until it fits.
fn smaller([x, y, z]: [u32; 3], most: u32) -> String {
    let mut size = [x, y, z];
    while size.iter().map(|&side| u64::from(side)).product::<u64>() > u64::from(most) {
        let longest = (0..3).max_by_key(|&side| size[side]).unwrap_or(0);
        if size[longest] <= 1 {
            break;
        }
        size[longest] /= 2;
    }
    let last = size.iter().rposition(|&side| side > 1).unwrap_or(0);
    size[..=last].iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}
