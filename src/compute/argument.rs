//! What a kernel is given: buffers and uniforms, compared with what its bindings declare; and what its CPU code sees of them.

use super::buffer::{ALIGNMENT, Buffer, Store, bad};
use super::command::BindingKind;
use super::element::{Element, Field, Layout};
use super::reflect::Binding;
use crate::error::{Error, Result};

/// What goes into a binding: a [`Buffer`], a scalar or a small array for a uniform, or [`Argument::block`].
#[derive(Clone, Debug)]
pub struct Argument(pub(super) Given);

#[derive(Clone, Debug)]
pub(super) enum Given {
    Buffer { bytes: Buffer<u8>, wgsl: &'static str, size: usize, rust: &'static str },
    Uniform { bytes: Vec<u8>, fields: Option<&'static [Field]>, rust: &'static str },
    Wrong(Error),
}

impl<T: Element> From<&Buffer<T>> for Argument {
    fn from(buffer: &Buffer<T>) -> Argument {
        let rust = std::any::type_name::<T>();
        match buffer.cast() {
            Ok(bytes) => Argument(Given::Buffer { bytes, wgsl: T::WGSL, size: size_of::<T>(), rust }),
            Err(error) => Argument(Given::Wrong(error)),
        }
    }
}

macro_rules! uniform {
    ($($rust:ty),*) => { $(
        impl From<$rust> for Argument {
            fn from(value: $rust) -> Argument {
                let bytes = bytemuck::bytes_of(&value).to_vec();
                Argument(Given::Uniform { bytes, fields: None, rust: stringify!($rust) })
            }
        }
    )* };
}
uniform!(f32, u32, i32, [f32; 2], [u32; 2], [i32; 2], [f32; 4], [u32; 4], [i32; 4]);

impl Argument {
    /// A struct for a uniform block, whose fields are compared with the kernel's. See [`layout!`](crate::layout).
    pub fn block<T: Layout>(value: &T) -> Argument {
        let (bytes, rust) = (bytemuck::bytes_of(value).to_vec(), std::any::type_name::<T>());
        Argument(Given::Uniform { bytes, fields: Some(T::FIELDS), rust })
    }
}

/// What differs between a binding and what it is given, if anything does.
pub(super) fn compare(label: &str, binding: &Binding, argument: &Argument) -> Result<()> {
    let Binding { name, number, wgsl, .. } = binding;
    let differs = |found: String| Err(bad(label, format!("'{name}' (binding {number}) is {wgsl}, given {found}")));
    match (&argument.0, binding.kind) {
        (Given::Wrong(error), _) => Err(error.clone()),
        (Given::Buffer { rust, .. }, BindingKind::Uniform) => {
            differs(format!("a buffer of {rust}: a uniform takes a value"))
        }
        (Given::Uniform { rust, .. }, BindingKind::Read | BindingKind::Write) => {
            differs(format!("the value of {rust}: a storage binding takes a buffer"))
        }
        (Given::Buffer { bytes, wgsl: given, size, rust }, _) => {
            if let Some((element, stride)) = &binding.element {
                let packed = *given == "u32 packed" && element == "u32";
                let scalar = element.trim_start_matches("atomic<").trim_end_matches('>');
                let same = element == given || scalar == *given || *given == "struct";
                if !packed && !same {
                    return differs(format!("elements of {rust}, which is {given}"));
                }
                if !packed && *stride as usize != *size {
                    return differs(format!(
                        "{rust} of {size} bytes, where WGSL has {stride} from one element to the next"
                    ));
                }
            }
            if bytes.byte_length().next_multiple_of(4) < u64::from(binding.size) && !bytes.is_empty() {
                return differs(format!("{} bytes, where it needs {}", bytes.byte_length(), binding.size));
            }
            if bytes.offset() % ALIGNMENT != 0 {
                return differs(format!(
                    "a view from byte {} on; a binding begins at a multiple of {ALIGNMENT}, so copy() it",
                    bytes.offset()
                ));
            }
            Ok(())
        }
        (Given::Uniform { bytes, fields, rust }, BindingKind::Uniform) => {
            match fields {
                Some(fields) => {
                    let found = member_differences(binding, fields);
                    if !found.is_empty() {
                        return differs(format!("{rust}: {}", found.join("; ")));
                    }
                }
                // A value may stand for a block whose members are all of its kind.
                None => {
                    let mut kinds: Vec<&str> = binding.members.iter().map(|(_, kind, ..)| kind.as_str()).collect();
                    if kinds.is_empty() {
                        kinds.push(wgsl);
                    }
                    if kinds.into_iter().any(|kind| other_scalar(kind, rust)) {
                        return differs(format!("the value of {rust}"));
                    }
                }
            }
            // A block may be longer in WGSL by padding at its end only.
            let needed = binding.size as usize;
            match bytes.len() == needed
                || fields.is_some() && bytes.len().next_multiple_of(16) == needed.next_multiple_of(16)
            {
                true => Ok(()),
                false => differs(format!("{rust} of {} bytes, where WGSL has {needed}", bytes.len())),
            }
        }
    }
}

fn member_differences(binding: &Binding, fields: &[Field]) -> Vec<String> {
    let mut found = Vec::new();
    for (name, kind, offset, size) in &binding.members {
        match fields.iter().find(|field| field.name == name) {
            None => found.push(format!("no field '{name}' ({kind})")),
            Some(field) if field.offset != *offset as usize => {
                found.push(format!("'{name}' ({kind}) is at byte {} and must be at {offset}", field.offset));
            }
            Some(field) if field.size != *size as usize => {
                found.push(format!("'{name}' has {} bytes and {kind} has {size}", field.size));
            }
            Some(field) if other_scalar(kind, field.rust) => {
                found.push(format!("'{name}' is {} and must be {kind}", field.rust));
            }
            Some(_) => {}
        }
    }
    for Field { name: field, .. } in fields {
        // Padding is nobody's business.
        if !field.starts_with('_') && !binding.members.iter().any(|(name, ..)| name == field) {
            found.push(format!("the kernel has no member '{field}'"));
        }
    }
    found
}

/// Whether a WGSL type and a Rust type name different scalars. Types that name none, structs and those of other crates,
/// are compared by their size alone.
fn other_scalar(wgsl: &str, rust: &str) -> bool {
    let scalar = |text: &str| ["f32", "u32", "i32"].into_iter().find(|scalar| text.contains(scalar));
    scalar(wgsl).zip(scalar(rust)).is_some_and(|(wgsl, rust)| wgsl != rust)
}

/// A call of a kernel on the CPU: what its code is given.
pub struct CpuCall {
    pub(super) label: String,
    pub(super) invocations: [usize; 3],
    pub(super) arguments: Vec<(String, Argument)>,
}

impl CpuCall {
    /// How many invocations there would be along x, y and z.
    pub fn invocations(&self) -> [usize; 3] {
        self.invocations
    }

    fn argument(&self, name: &str) -> Result<&Given> {
        let found = self.arguments.iter().find(|(known, _)| known == name).map(|(_, argument)| &argument.0);
        found.ok_or_else(|| bad(&self.label, format!("its CPU code asks for '{name}', which is no binding")))
    }

    /// The elements of a buffer.
    ///
    /// # Errors
    /// [`Error::BadInput`] for a name or a type that is not the binding's.
    pub fn get<T: Element>(&self, name: &str) -> Result<Vec<T>> {
        match self.argument(name)? {
            Given::Buffer { bytes, .. } => Ok(bytes.cast::<T>()?.on_host()),
            _ => Err(bad(&self.label, format!("its CPU code takes '{name}' for a buffer"))),
        }
    }

    /// The value of a uniform.
    ///
    /// # Errors
    /// As for [`get`](CpuCall::get).
    pub fn value<T: bytemuck::Pod>(&self, name: &str) -> Result<T> {
        match self.argument(name)? {
            Given::Uniform { bytes, .. } if bytes.len() == size_of::<T>() => Ok(bytemuck::pod_read_unaligned(bytes)),
            _ => {
                Err(bad(&self.label, format!("its CPU code takes '{name}' for a uniform of {} bytes", size_of::<T>())))
            }
        }
    }

    /// Replaces the elements of a buffer.
    ///
    /// # Errors
    /// As for [`get`](CpuCall::get), and if the length is not the buffer's.
    pub fn set<T: Element>(&mut self, name: &str, elements: &[T]) -> Result<()> {
        match self.argument(name)? {
            Given::Buffer { bytes, .. } if matches!(bytes.store(), Store::Host(_)) => {
                bytes.cast::<T>()?.write(elements)
            }
            _ => Err(bad(&self.label, format!("its CPU code takes '{name}' for a buffer"))),
        }
    }
}
