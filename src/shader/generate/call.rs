//! Calls of kernels: their functions, uniforms, tables and buffers.

use super::Generator;
use crate::error::{Error, Result};
use crate::graph::lower::Value;
use crate::op::{Field, Kernel};
use crate::plan::Storage;
use crate::plan::recording::Resource;
use crate::shader::source;
use std::collections::HashMap;

/// The expression for a kernel's uniforms: the block's member, or, where some are choices, one with these as numbers.
fn uniforms(kernel: &Kernel, struct_name: &str, member: &str) -> String {
    if !kernel.fields.iter().any(|field| field.choice) {
        return member.into();
    }
    let value = |(field, choice): (&Field, Option<u32>)| match choice {
        Some(choice) => format!("{choice}u"),
        None => format!("{member}.{}", field.name),
    };
    let values: Vec<String> = kernel.fields_and_choices().map(value).collect();
    format!("{struct_name}({})", values.join(", "))
}

impl Generator<'_> {
    /// Makes sure that a kernel's function is in the module and returns an expression that calls it.
    pub(super) fn call(&mut self, value: Value, kernel: &Kernel, given: &[(&str, String)], at: &str) -> Result<String> {
        let id = value.0;
        let plain = kernel.function();
        let uses_buffer = self.graph.node(value).inputs.iter().any(|input| self.graph.node(*input).shape.is_buffer());
        let own_copy = kernel.foreign || kernel.table.is_some() || uses_buffer;
        let (function, struct_name) = match (own_copy, kernel.foreign) {
            (true, true) => (format!("{plain}_{id}"), format!("{}_{id}", kernel.struct_name)),
            (true, false) => (format!("{plain}_{id}"), kernel.struct_name.to_string()),
            (false, _) => (plain.clone(), kernel.struct_name.to_string()),
        };
        if !kernel.fields.is_empty() {
            let members: Vec<String> =
                kernel.fields.iter().map(|field| format!("    {}: {},\n", field.name, field.wgsl)).collect();
            self.structs.insert(struct_name.clone(), format!("struct {struct_name} {{\n{}}}", members.concat()));
            self.field(&format!("u_{id}"), &struct_name, kernel.words.clone());
        }
        if let Some(table) = &kernel.table {
            self.table_function(id, table);
        }
        if let Some(buffer) =
            self.graph.node(value).inputs.iter().copied().find(|input| self.graph.node(*input).shape.is_buffer())
        {
            self.buffer_function(id, buffer)?;
        }
        if own_copy {
            let mut names: HashMap<String, String> = source::declarations(&kernel.wgsl)
                .into_iter()
                .map(|d| (d.name.clone(), format!("{}_{id}", d.name)))
                .collect();
            names.insert("table".into(), format!("table_{id}"));
            names.insert("buffer".into(), format!("buffer_{id}"));
            self.add(&function, source::rename(&kernel.wgsl, &names));
        } else {
            self.add(&function, kernel.wgsl.trim().to_string());
        }
        let Some(parameters) = source::parameters(&kernel.wgsl, &plain) else {
            let message = format!("no function '{plain}' in the shader text");
            return Err(Error::Shader { operator: kernel.name.to_string(), line: 1, column: 1, message });
        };
        let mut arguments = Vec::new();
        for parameter in parameters {
            let argument = if let Some((_, argument)) = given.iter().find(|(name, _)| *name == parameter) {
                argument.clone()
            } else if parameter == "u" && !kernel.foreign {
                uniforms(kernel, &struct_name, &format!("uniforms.u_{id}"))
            } else if parameter == "at" {
                format!("vec2f({at}) + 0.5")
            } else if parameter == "extent" {
                format!("vec2f({}.xy)", self.size(value))
            } else if kernel.fields.iter().any(|field| field.name == parameter) {
                format!("uniforms.u_{id}.{parameter}")
            } else {
                let message =
                    format!("parameter '{parameter}' of '{plain}' is nothing that this kind of step is given");
                return Err(Error::Shader { operator: kernel.name.to_string(), line: 1, column: 1, message });
            };
            arguments.push(argument);
        }
        Ok(format!("{function}({})", arguments.join(", ")))
    }

    /// `table_N(index)`: data of one kernel within the pass's table.
    pub(super) fn table_function(&mut self, id: usize, entries: &[[f32; 4]]) {
        let name = format!("table_{id}");
        if self.has(&name) {
            return;
        }
        let start = self.table.len() as u32;
        self.table.extend_from_slice(entries);
        self.has_table = true;
        self.bind(Resource::Table, |binding| {
            format!("@group(0) @binding({binding}) var<storage, read> table: array<vec4f>;")
        });
        self.field(&name, "vec4u", vec![start, (entries.len() as u32).max(1), 0, 0]);
        let text = format!(
            "fn {name}(index: u32) -> vec4f {{\n    return table[uniforms.{name}.x + min(index, uniforms.{name}.y - 1u)];\n}}"
        );
        self.add(&name, text);
    }

    /// `buffer_N(index)`: entries of the buffer that a kernel reads.
    pub(in crate::shader) fn buffer_function(&mut self, id: usize, buffer: Value) -> Result<()> {
        let Some(Storage::Buffer(slot)) = self.plan.storage(buffer) else {
            return Err(Error::BadGraph("a buffer is read before it is made".into()));
        };
        self.bind(Resource::Buffer(slot), |binding| {
            format!("@group(0) @binding({binding}) var<storage, read> buffer_in_{slot}: array<vec4u>;")
        });
        let last = self.graph.node(buffer).shape.extent().width.max(1) - 1;
        let name = format!("buffer_{id}");
        let text = format!("fn {name}(index: u32) -> vec4u {{\n    return buffer_in_{slot}[min(index, {last}u)];\n}}");
        self.add(&name, text);
        Ok(())
    }
}
