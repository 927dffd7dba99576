//! The modules of passes that end in a small buffer: reductions over a picture and steps from buffer to buffer.

use super::generate::{Generator, groups, substitute};
use super::library;
use crate::error::{Error, Result};
use crate::graph::lower::Lowered;
use crate::op::Reduction;
use crate::plan::recording::{Command, Dispatch, Limits, Recording, Resource, STRIP};
use crate::plan::{Pass, Plan, Storage, Target};

/// Invocations of a workgroup that reduces a part of a picture. 128 are what the weakest devices allow.
const GROUP: [u32; 2] = [16, 8];

/// Rows that one invocation of a reduction reads: enough that merging workgroups costs little beside reading.
const ROWS: u32 = 16;

/// Invocations of the workgroup that works on a small buffer.
const BUFFER_GROUP: u32 = 64;

fn result_buffer(pass: &Pass) -> Result<usize> {
    pass.writes
        .iter()
        .find_map(|write| match write.target {
            Target::Stored(Storage::Buffer(buffer)) => Some(buffer),
            _ => None,
        })
        .ok_or_else(|| Error::BadGraph(format!("{} has no buffer for its result", pass.label)))
}

fn group_names() -> Vec<(&'static str, String)> {
    vec![
        ("GROUP_WIDTH", format!("{}u", GROUP[0])),
        ("GROUP_HEIGHT", format!("{}u", GROUP[1])),
        ("GROUP_SIZE", format!("{}u", GROUP[0] * GROUP[1])),
        ("ROWS", ROWS.to_string()),
    ]
}

/// Appends the commands of a reduction.
pub(super) fn commands(
    graph: &Lowered,
    plan: &Plan,
    pass: &Pass,
    reduction: Reduction,
    recording: &mut Recording,
    limits: &Limits,
) -> Result<()> {
    let needed = match reduction {
        Reduction::Histogram => 4 * 1024,
        Reduction::Statistics => 48 * GROUP[0] * GROUP[1],
        Reduction::Pixels(_) => 0,
    };
    if needed > limits.workgroup_memory {
        let has = limits.workgroup_memory;
        let message = format!("{} needs {needed} bytes of workgroup memory, the device has {has}", pass.label);
        return Err(Error::DeviceLimit(message));
    }
    let result = result_buffer(pass)?;
    let input = pass
        .writes
        .first()
        .and_then(|write| graph.node(write.value).inputs.first().copied())
        .ok_or_else(|| Error::BadGraph("a reduction has no input".into()))?;
    let mut generator = Generator::new(graph, plan, pass, recording.source_textures);
    let value = generator.strip_function(input)?;
    let groups = groups(pass, GROUP, [STRIP, ROWS]);
    let cost = generator.cost(GROUP, [STRIP, ROWS]);
    let mut names = group_names();
    names.push(("VALUE", value));
    match reduction {
        Reduction::Histogram => {
            let declaration = "var<storage, read_write> result: array<atomic<u32>>;";
            generator.bind_result(Resource::BufferWrite(result), declaration);
            let entry = substitute(include_str!("../../wgsl/pass/histogram.wgsl"), &names);
            recording.commands.push(Command::Clear { buffer: result });
            recording.commands.push(Command::Dispatch(generator.finish(&entry, groups, cost)?));
        }
        Reduction::Pixels(_) => {
            let declaration = "var<storage, read_write> result: array<vec4u>;";
            generator.bind_result(Resource::BufferWrite(result), declaration);
            let entry = substitute(include_str!("../../wgsl/pass/pixels.wgsl"), &names);
            recording.commands.push(Command::Dispatch(generator.finish(&entry, groups, cost)?));
        }
        Reduction::Statistics => {
            let partials = groups[0] * groups[1];
            let partial = recording.buffers.len();
            recording.buffers.push(u64::from(partials) * 48);
            let declaration = "var<storage, read_write> result: array<vec4u>;";
            generator.bind_result(Resource::BufferWrite(partial), declaration);
            let entry = substitute(include_str!("../../wgsl/pass/statistics.wgsl"), &names);
            recording.commands.push(Command::Dispatch(generator.finish(&entry, groups, cost)?));
            let merge = substitute(include_str!("../../wgsl/pass/statistics_merge.wgsl"), &names);
            recording.commands.push(Command::Dispatch(Dispatch {
                label: format!("{} (merge)", pass.label),
                wgsl: format!("{}\n\n{merge}\n", library::needed_by(&merge)).into(),
                trusted: true,
                bindings: vec![Resource::Uniforms, Resource::Buffer(partial), Resource::BufferWrite(result)],
                groups: [1, 1],
                group_cost: f64::from(partials),
                uniforms: vec![0, 0, pass.extent.width, pass.extent.height, partials, 0, 0, 0],
                table: None,
                workgroup_memory: 0,
            }));
        }
    }
    Ok(())
}

/// The dispatch of a step from buffer to buffer.
pub(super) fn derive(graph: &Lowered, plan: &Plan, pass: &Pass) -> Result<Dispatch> {
    let result = result_buffer(pass)?;
    let Some(write) = pass.writes.first() else {
        return Err(Error::BadGraph(format!("{} writes nothing", pass.label)));
    };
    let length = graph.node(write.value).shape.extent().width;
    let mut generator = Generator::new(graph, plan, pass, false);
    let call = generator.kernel_call(write.value, &[("index", "index".into())])?;
    let declaration = "var<storage, read_write> result: array<vec4u>;";
    generator.bind_result(Resource::BufferWrite(result), declaration);
    let entry = format!(
        "@compute @workgroup_size({BUFFER_GROUP})\n\
         fn main(@builtin(local_invocation_id) local: vec3u, @builtin(workgroup_id) group: vec3u) {{\n    \
         let index = (group.x + uniforms.first.x) * {BUFFER_GROUP}u + local.x;\n    \
         if index < {length}u {{\n        result[index] = {call};\n    }}\n}}"
    );
    generator.finish(&entry, [length.div_ceil(BUFFER_GROUP), 1], f64::from(BUFFER_GROUP))
}
