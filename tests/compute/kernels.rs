//! Kernels of one's own: the pitfalls of the classic lessons, each told in words or not possible.

use crate::common::{Random, seed};
use crate::on_gpu;
use cyanotype::compute::{Argument, Grid, KernelOptions};
use cyanotype::{Context, ContextOptions, Error, Limits};

const DOUBLE: &str = "
override size: u32 = 64;
struct Params { factor: f32, add: f32, offset: vec2f }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> input: array<f32>;
@group(0) @binding(3) var<storage, read_write> output: array<f32>;
@compute @workgroup_size(size)
fn scale(@builtin(global_invocation_id) id: vec3u) {
    if id.x < arrayLength(&output) {
        output[id.x] = input[id.x] * params.factor + params.add;
    }
}";

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Params {
    factor: f32,
    add: f32,
    offset: [f32; 2],
}
cyanotype::layout!(Params { factor: f32, add: f32, offset: [f32; 2] });

const PARAMS: Params = Params { factor: 2.0, add: 1.0, offset: [0.0; 2] };

fn message(result: cyanotype::Result<()>) -> String {
    result.expect_err("it is wrong").to_string()
}

/// There is no barrier to forget between dispatches: each sees all that those before it wrote, in one submit or in several,
/// and readback sees the last.
#[test]
fn dispatches_need_no_barriers() {
    on_gpu(|context| {
        let kernel = context.kernel(
            "@group(0) @binding(0) var<storage, read> old: array<u32>;
             @group(0) @binding(1) var<storage, read_write> fresh: array<u32>;
             @compute @workgroup_size(64) fn turn(@builtin(global_invocation_id) id: vec3u) {
                 let length = arrayLength(&fresh);
                 if id.x < length {
                     // From far away, which another workgroup wrote.
                     fresh[id.x] = old[(id.x * 7919u + 1u) % length] + id.x;
                 }
             }",
        )?;
        let length = 10_007;
        let mut numbers: Vec<u32> = (0..length).collect();
        let mut buffers = [context.buffer(&numbers)?, context.zeros::<u32>(numbers.len())?];
        for _ in 0..40 {
            let call = kernel.call().with("old", &buffers[0]).with("fresh", &buffers[1]);
            call.dispatch(numbers.len())?;
            buffers.swap(0, 1);
            numbers = (0..length).map(|i| numbers[((i * 7919 + 1) % length) as usize].wrapping_add(i)).collect();
        }
        assert_eq!(buffers[0].read().wait()?, numbers);
        Ok(())
    });
}

#[test]
fn sizes_that_are_no_multiples_of_the_workgroup() {
    let mut random = Random(seed());
    on_gpu(|context| {
        let most = f64::from(context.limits().workgroup_invocations.min(256));
        for size in [1.0, 32.0, 100.0, most] {
            let options = KernelOptions { overrides: &[("size", size)], ..KernelOptions::default() };
            let kernel = context.kernel_with(DOUBLE, options)?;
            assert_eq!(kernel.workgroup_size(), [size as u32, 1, 1]);
            for length in [1, 63, 65, 1000] {
                let numbers: Vec<f32> = (0..length).map(|_| random.below(1000) as f32).collect();
                let (input, output) = (context.buffer(&numbers)?, context.zeros::<f32>(length)?);
                let call = kernel.call().with("input", &input).with("output", &output);
                call.with("params", Argument::block(&PARAMS)).dispatch(length)?;
                let expected: Vec<f32> = numbers.iter().map(|x| 2.0 * x + 1.0).collect();
                assert_eq!(output.read().wait()?, expected, "{length} by {size}");
            }
        }
        Ok(())
    });
}

#[test]
fn what_differs_is_told_in_words() {
    on_gpu(|context| {
        let kernel = context.kernel(DOUBLE)?;
        let (floats, integers) = (context.zeros::<f32>(8)?, context.zeros::<u32>(8)?);
        let params = || Argument::block(&PARAMS);
        let call = || kernel.call().with("params", params());
        for (result, parts) in [
            (call().with("inptu", &floats).dispatch(8), &["inptu", "did you mean 'input'"][..]),
            (call().with("input", &floats).dispatch(8), &["'output' (binding 3, array<f32>) is not given"]),
            (call().with("input", &integers).with("output", &floats).dispatch(8), &["'input'", "array<f32>", "u32"]),
            (call().with("input", &floats).with("output", &floats).dispatch(8), &["same memory", "copy()"]),
            (call().with("input", &floats).with("input", &floats).dispatch(8), &["given twice"]),
            (call().with("input", 1.0f32).with("output", &floats).dispatch(8), &["a storage binding takes a buffer"]),
            (call().with("params", &floats).dispatch(8), &["given twice"]),
            (
                kernel.call().with("params", &floats).with("input", &floats).with("output", &integers).dispatch(8),
                &["a uniform takes a value"],
            ),
            (
                kernel.call().with("params", 1.0f32).with("input", &floats).with("output", &floats).dispatch(8),
                &["f32 of 4 bytes, where WGSL has 16"],
            ),
        ] {
            let message = message(result);
            assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        }
        #[repr(C)]
        #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
        struct Moved {
            add: f32,
            factor: f32,
            shift: [f32; 2],
        }
        cyanotype::layout!(Moved { add: f32, factor: f32, shift: [f32; 2] });
        let moved = Argument::block(&Moved { add: 0.0, factor: 0.0, shift: [0.0; 2] });
        let other = context.zeros::<f32>(8)?;
        let message =
            message(kernel.call().with("params", moved).with("input", &floats).with("output", &other).dispatch(8));
        for part in
            ["'factor' (f32) is at byte 4 and must be at 0", "no field 'offset' (vec2<f32>)", "no member 'shift'"]
        {
            assert!(message.contains(part), "{message}");
        }
        #[repr(C)]
        #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
        struct Whole {
            factor: u32,
            add: f32,
            offset: [f32; 2],
        }
        cyanotype::layout!(Whole { factor: u32, add: f32, offset: [f32; 2] });
        let whole = Argument::block(&Whole { factor: 0, add: 0.0, offset: [0.0; 2] });
        let message = self::message(
            kernel.call().with("params", whole).with("input", &floats).with("output", &other).dispatch(8),
        );
        assert!(message.contains("'factor' is u32 and must be f32"), "{message}");
        let number = context.kernel(
            "@group(0) @binding(0) var<uniform> n: u32;
             @group(0) @binding(1) var<storage, read_write> out: array<u32>;
             @compute @workgroup_size(1) fn put() { out[0] = n; }",
        )?;
        let out = context.zeros::<u32>(1)?;
        let message = self::message(number.call().with("n", 7.0f32).with("out", &out).dispatch(1));
        assert!(message.contains("'n' (binding 0) is u32, given the value of f32"), "{message}");
        number.call().with("n", 7u32).with("out", &out).dispatch(1)?;
        assert_eq!(out.read().wait()?, [7]);
        let view = floats.view(1..)?;
        let message = self::message(call().with("input", &view).with("output", &other).dispatch(7));
        assert!(message.contains("from byte 4") && message.contains("copy()"), "{message}");
        let empty = context.zeros::<f32>(0)?;
        call().with("input", &empty).with("output", &empty).dispatch(0)?;
        let message = self::message(call().with("input", &empty).with("output", &other).dispatch(1));
        assert!(message.contains("empty buffer"), "{message}");
        Ok(())
    });
}

#[test]
fn kernels_that_do_not_parse_or_are_invalid() {
    on_gpu(|context| {
        for (text, wanted) in [
            ("@compute @workgroup_size(1)\nfn main() { let x = ; }", 2),
            ("\n\n@compute @workgroup_size(1) fn main() { let x: f32 = 1u; }", 3),
            ("fn main() {}", 0),
            ("@compute @workgroup_size(1) fn a() {} @compute @workgroup_size(1) fn b() {}", 0),
            (
                "@group(1) @binding(0) var<storage> a: array<u32>; @compute @workgroup_size(1) fn main() { _ = a[0]; }",
                0,
            ),
            ("@group(0) @binding(0) var a: texture_2d<f32>; @compute @workgroup_size(1) fn main() {}", 0),
        ] {
            match context.kernel(text).map(|_| ()) {
                Err(Error::Shader { line, .. }) => assert_eq!(line, wanted, "{text}"),
                Err(Error::BadInput { .. }) => assert_eq!(wanted, 0, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
        Ok(())
    });
}

/// As long as text may be; what is longer never comes to a device, whose compiler might overflow its stack.
#[test]
fn long_text_runs_or_is_refused() {
    on_gpu(|context| {
        let ones = context.buffer(&[1.0f32; 5])?;
        let branches = "if x < 0.5 { x = 0.0; }".to_string() + &" else if x < 0.75 { x = 2.0; }".repeat(190);
        let chain = format!("x = {}x;", "x + ".repeat(899));
        for (statement, right) in [(chain, 900.0), (branches, 1.0)] {
            let kernel = context.kernel(&format!(
                "@group(0) @binding(0) var<storage, read_write> data: array<f32>;
                 @compute @workgroup_size(1) fn long(@builtin(global_invocation_id) id: vec3u) {{
                     var x = data[id.x]; {statement} data[id.x] = x;
                 }}"
            ));
            match kernel {
                Ok(kernel) => {
                    let data = ones.copy()?;
                    kernel.call().with("data", &data).dispatch(5)?;
                    assert_eq!(data.read().wait()?, [right; 5]);
                }
                // Some drivers have limits of their own.
                Err(Error::Device(_)) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
        for expression in ["x + ".repeat(3000) + "x", "- ".repeat(3000) + "x"] {
            assert!(matches!(ones.map::<f32>(&expression), Err(Error::Shader { line: 1, .. })));
        }
        Ok(())
    });
}

#[test]
fn a_workgroup_over_the_limit_says_what_would_fit() {
    on_gpu(|context| {
        let most = context.limits().workgroup_invocations;
        let side = 2 * (f64::from(most).sqrt() as u32);
        let text = format!("@compute @workgroup_size({side}, {side}) fn big() {{}}");
        match context.kernel(&text).map(|_| ()) {
            Err(Error::KernelLimit { limit, found, allowed, fits, .. }) => {
                assert_eq!((found, allowed), (u64::from(side * side), u64::from(most)));
                assert!(limit.contains("invocations") && fits.contains("@workgroup_size("), "{limit} {fits}");
            }
            other => panic!("{other:?}"),
        }
        Ok(())
    });
}

#[test]
fn too_much_uniform_data_odd_numbers_and_overrides_are_told() {
    on_gpu(|context| {
        let uniform = |length: u32, number: u32| {
            format!(
                "@group(0) @binding({number}) var<uniform> table: array<vec4f, {length}>;
                 @group(0) @binding(1) var<storage, read_write> out: array<f32>;
                 @compute @workgroup_size(1) fn read(@builtin(global_invocation_id) id: vec3u) {{
                     out[id.x] = table[id.x].x;
                 }}"
            )
        };
        assert!(context.kernel(&uniform(1000, 0)).is_ok());
        match context.kernel(&uniform(10_000, 0)).map(|_| ()) {
            Err(Error::KernelLimit { limit, found, .. }) => {
                assert!(limit.starts_with("bytes of") && found == 160_000, "{limit} {found}");
            }
            other => panic!("{other:?}"),
        }
        assert!(message(context.kernel(&uniform(4, 100_000)).map(|_| ())).contains("@binding(100000)"));
        for (overrides, part) in [
            (&[("size", 1.5)][..], "cannot be 1.5"),
            (&[("size", 32.0), ("size", 64.0)][..], "given twice"),
            (&[("size", -1.0)][..], "cannot be -1"),
        ] {
            let options = KernelOptions { overrides, ..KernelOptions::default() };
            let message = message(context.kernel_with(DOUBLE, options).map(|_| ()));
            assert!(message.contains(part), "{message}");
        }
        Ok(())
    });
}

#[test]
fn sixteen_kilobytes_of_workgroup_memory_and_no_more() {
    on_gpu(|context| {
        let weak = ContextOptions {
            backend: crate::common_backend(),
            allow_software: true,
            limits: Some(Limits { workgroup_memory: 16 << 10, ..Limits::UNLIMITED }),
            ..ContextOptions::default()
        };
        let weak = Context::with(&weak)?;
        let text = |length: u32| {
            format!(
                "var<workgroup> tile: array<u32, {length}>;
                 @group(0) @binding(0) var<storage, read_write> out: array<u32>;
                 @compute @workgroup_size(64) fn fill(@builtin(local_invocation_index) i: u32) {{
                     for (var k = i; k < {length}u; k += 64u) {{ tile[k] = k; }}
                     workgroupBarrier();
                     out[i] = tile[{length}u - 1u - i];
                 }}"
            )
        };
        let out = weak.zeros::<u32>(64)?;
        let options = || KernelOptions { sets_workgroup_memory: true, ..KernelOptions::default() };
        weak.kernel_with(&text(4096), options())?.call().with("out", &out).dispatch(Grid::Workgroups([1, 1, 1]))?;
        assert_eq!(out.read().wait()?, (0..64).map(|i| 4095 - i).collect::<Vec<u32>>());
        match weak.kernel(&text(4097)).map(|_| ()) {
            Err(Error::KernelLimit { found, allowed, fits, .. }) => {
                assert_eq!((found, allowed, fits.as_str()), (16400, 16384, "4096 floats would fit"));
            }
            other => panic!("{other:?}"),
        }
        drop(context.clone());
        Ok(())
    });
}

#[test]
fn work_over_65535_groups_folds_by_itself() {
    on_gpu(|context| {
        let limits = context.limits().workgroups as usize;
        let options = KernelOptions { overrides: &[("size", 1.0)], ..KernelOptions::default() };
        let kernel = context.kernel_with(DOUBLE, options)?;
        for length in [limits, limits + 1, 3 * limits + 7] {
            let numbers: Vec<f32> = (0..length).map(|i| i as f32).collect();
            let (input, output) = (context.buffer(&numbers)?, context.zeros::<f32>(length)?);
            let call = kernel.call().with("input", &input).with("output", &output);
            call.with("params", Argument::block(&PARAMS)).dispatch(length)?;
            let found = output.read().wait()?;
            assert!(found.iter().zip(&numbers).all(|(found, x)| *found == 2.0 * x + 1.0), "{length} groups");
        }
        let (input, output) = (context.zeros::<f32>(1)?, context.zeros::<f32>(1)?);
        let call = kernel.call().with("input", &input).with("output", &output).with("params", Argument::block(&PARAMS));
        match call.dispatch([1, limits + 1]) {
            Err(Error::KernelLimit { found, allowed, .. }) => {
                assert_eq!((found as usize, allowed as usize), (limits + 1, limits));
            }
            other => panic!("{other:?}"),
        }
        Ok(())
    });
}

#[test]
fn reads_and_writes_beyond_the_end_do_no_harm() {
    on_gpu(|context| {
        let kernel = context.kernel(
            "@group(0) @binding(0) var<storage, read_write> data: array<u32>;
             @compute @workgroup_size(64) fn wild(@builtin(global_invocation_id) id: vec3u) {
                 data[id.x + 1000000000u] = data[id.x + 3000000000u] + 7u;
             }",
        )?;
        let all: Vec<u32> = (0..128).collect();
        let buffer = context.buffer(&all)?;
        let half = buffer.view(..64)?;
        kernel.call().with("data", &half).dispatch(64)?;
        // WGSL lets a wild write land somewhere in the binding; outside of it nothing may change.
        assert_eq!(buffer.view(64..)?.read().wait()?, all[64..]);
        Ok(())
    });
}

#[test]
fn a_loop_without_end_is_bounded_or_lost_but_no_crash() {
    // Loop bounding makes this end after 2^64 rounds at the latest, which nobody waits for: only that it compiles with the
    // bound in place is tried, in a kernel that leaves the loop.
    on_gpu(|context| {
        let kernel = context.kernel(
            "@group(0) @binding(0) var<storage, read_write> data: array<u32>;
             @compute @workgroup_size(1) fn collatz() {
                 var steps = 0u;
                 loop { if data[0] == 1u { break; }
                     data[0] = select(data[0] / 2u, 3u * data[0] + 1u, data[0] % 2u == 1u); steps++; }
                 data[1] = steps;
             }",
        )?;
        let data = context.buffer(&[27u32, 0])?;
        kernel.call().with("data", &data).dispatch(1)?;
        assert_eq!(data.read().wait()?, [1, 111]);
        Ok(())
    });
}

#[test]
fn counts_made_on_the_device_size_the_next_dispatch() {
    let mut random = Random(seed());
    on_gpu(|context| {
        let kernel = context.kernel(
            "@group(0) @binding(0) var<storage, read> count: array<u32>;
             @group(0) @binding(1) var<storage, read_write> seen: array<atomic<u32>>;
             @compute @workgroup_size(64) fn visit(@builtin(global_invocation_id) id: vec3u) {
                 atomicAdd(&seen[1], 1u);
                 if id.x < count[0] { atomicAdd(&seen[0], 1u); }
             }",
        )?;
        let numbers: Vec<f32> = (0..10_000).map(|_| random.between(-1.0, 1.0)).collect();
        let wanted = numbers.iter().filter(|x| **x > 0.25).count() as u32;
        let chosen = context.buffer(&numbers)?.compact("x > 0.25")?;
        let seen = context.zeros::<u32>(2)?;
        kernel.call().with("count", &chosen.count).with("seen", &seen).dispatch(Grid::Counted(chosen.count.clone()))?;
        assert_eq!(seen.read().wait()?, [wanted, wanted.next_multiple_of(64)]);
        seen.clear()?;
        let groups = context.buffer(&[3u32, 2, 1])?;
        kernel.call().with("count", &chosen.count).with("seen", &seen).dispatch(Grid::Indirect(groups))?;
        assert_eq!(seen.read().wait()?[1], 6 * 64);
        // Over the limit: none.
        let most = context.limits().workgroups;
        for groups in [[most + 1, 1, 1], [1, u32::MAX, 1], [0, 1, 1]] {
            seen.clear()?;
            let groups = Grid::Indirect(context.buffer(&groups)?);
            kernel.call().with("count", &chosen.count).with("seen", &seen).dispatch(groups)?;
            assert_eq!(seen.read().wait()?, [0, 0]);
        }
        // The work may write the numbers that it is sized by.
        let groups = context.buffer(&[3u32, 0, 1])?;
        groups.write(&[3, 2, 1])?;
        kernel.call().with("count", &chosen.count).with("seen", &groups).dispatch(Grid::Indirect(groups.clone()))?;
        assert_eq!(groups.read().wait()?[1], 2 + 6 * 64);
        Ok(())
    });
}

#[test]
fn cpu_code_stands_in() {
    let context = Context::cpu();
    let kernel = context.kernel(DOUBLE).unwrap();
    let (input, output) = (context.buffer(&[1.0f32, 2.0]).unwrap(), context.zeros::<f32>(2).unwrap());
    let call = || kernel.call().with("input", &input).with("output", &output).with("params", Argument::block(&PARAMS));
    assert!(matches!(call().dispatch(2), Err(Error::NoCpuCode { .. })));
    let options = KernelOptions {
        cpu: Some(Box::new(|call| {
            let params: Params = call.value("params")?;
            let input: Vec<f32> = call.get("input")?;
            assert_eq!(call.invocations(), [2, 1, 1]);
            call.set("output", &input.iter().map(|x| x * params.factor + params.add).collect::<Vec<_>>())
        })),
        ..KernelOptions::default()
    };
    let kernel = context.kernel_with(DOUBLE, options).unwrap();
    let call = kernel.call().with("input", &input).with("output", &output).with("params", Argument::block(&PARAMS));
    call.dispatch(2).unwrap();
    assert_eq!(output.read().wait().unwrap(), [3.0, 5.0]);
}

#[test]
fn readback_does_not_block_and_a_lost_device_is_told() {
    on_gpu(|context| {
        let kernel = context.kernel(
            "@group(0) @binding(0) var<storage, read_write> data: array<u32>;
             @compute @workgroup_size(64) fn work(@builtin(global_invocation_id) id: vec3u) {
                 var x = data[id.x];
                 for (var i = 0u; i < 20000u; i++) { x = x * 1664525u + 1013904223u; }
                 data[id.x] = x;
             }",
        )?;
        let data = context.buffer(&vec![1u32; 1 << 18])?;
        // Compiled and run once, so that what is timed is the call alone.
        kernel.call().with("data", &data).dispatch(data.len())?;
        context.finish().wait()?;
        let start = std::time::Instant::now();
        kernel.call().with("data", &data).dispatch(data.len())?;
        let pending = data.read();
        let asked = start.elapsed();
        let values = pending.wait()?;
        let done = start.elapsed();
        assert_eq!(values.len(), 1 << 18);
        assert!(asked * 5 < done, "asking took {asked:?} of {done:?}");
        drop(data.read());
        Ok(())
    });
    let Some(context) = crate::common::gpu() else { return };
    let data = context.buffer(&[1u32; 100]).unwrap();
    let pending = data.read();
    context.lose_device().unwrap();
    // What was asked for before may still have come; what is asked for afterwards cannot.
    assert!(matches!(pending.wait(), Ok(_) | Err(Error::DeviceLost(_))));
    assert!(matches!(data.read().wait(), Err(Error::DeviceLost(_))));
    assert!(matches!(data.map::<u32>("x"), Err(Error::DeviceLost(_))));
}

#[test]
fn buffers_that_cannot_be_are_errors() {
    on_gpu(|context| {
        let limit = context.limits().storage_binding_size.min(context.limits().buffer_size);
        assert!(matches!(context.zeros::<u32>(limit as usize), Err(Error::Limit { .. })));
        assert!(matches!(context.zeros::<[u32; 4]>(usize::MAX / 2), Err(Error::Limit { .. })));
        Ok(())
    });
    assert!(matches!(Context::cpu().zeros::<u32>(1 << 55), Err(Error::OutOfMemory(_))));
    assert!(matches!(Context::cpu().zeros::<[u32; 4]>(usize::MAX / 2), Err(Error::Limit { .. })));
}
