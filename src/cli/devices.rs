//! `devices`: what could run a graph, what would, and why.

use super::output::{print, wrapped};
use super::{Common, Failure, Outcome};
use cyanotype::{DeviceInfo, devices};
use serde_json::{Value, json};
use std::io::{self, Write};

pub fn run(common: &Common, as_json: bool, full: bool) -> Outcome {
    let backend = common.backend()?;
    let found = devices();
    // A backend that cannot be had is an answer here, not a failure.
    let chosen = match common.context(1) {
        Ok(context) => Ok(context.description()),
        Err(Failure::Failed(message) | Failure::Usage(message)) => Err(message),
        Err(other) => return Err(other),
    };
    if as_json {
        let found = serde_json::to_value(&found)
            .map_err(|error| Failure::Failed(format!("the devices cannot be written as JSON: {error}")))?;
        let answer = match &chosen {
            Ok(chosen) => json!({ "devices": found, "backend": backend, "chosen": chosen }),
            Err(message) => json!({ "devices": found, "backend": backend, "chosen": Value::Null, "error": message }),
        };
        return print(|out| writeln!(out, "{answer:#}"));
    }
    print(|out| {
        for device in &found {
            write_device(out, device, full)?;
        }
        match &chosen {
            Ok(chosen) => writeln!(out, "With --backend {backend}: {chosen}"),
            Err(message) => writeln!(out, "With --backend {backend}: none; {message}"),
        }
    })
}

/// Width of the column of labels.
const LABEL: usize = 13;

fn write_device(out: &mut dyn Write, device: &DeviceInfo, full: bool) -> io::Result<()> {
    writeln!(out, "{} ({}, {})", device.name, device.backend, device.kind)?;
    if !device.driver.is_empty() {
        writeln!(out, "  driver     {}", device.driver)?;
    }
    if device.backend != "cpu" {
        writeln!(out, "  self-test  {}", device.unusable.as_deref().unwrap_or("passed"))?;
    }
    if device.software {
        writeln!(
            out,
            "  note       a software rasteriser, slower than the CPU backend: used only when asked for by name"
        )?;
    }
    let wide = |text: &str| wrapped(text, LABEL).trim_start().to_string();
    if !device.features.is_empty() {
        let features = device.features.join(", ").to_lowercase().replace('_', "-");
        writeln!(out, "  features   {}", wide(&features))?;
    }
    // The names as the library has them, so that a new limit shows up by itself.
    let limits = serde_json::to_value(device.limits).unwrap_or_default(); // plain numbers: cannot fail
    let unlimited =
        |value: &Value| value.as_u64().is_some_and(|value| value == u64::MAX || value == u64::from(u32::MAX));
    let limits: Vec<String> = limits
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, value)| {
            *name != "pass_shapes"
                && !unlimited(value)
                && !value.as_array().is_some_and(|list| list.iter().all(unlimited))
        })
        .map(|(name, value)| format!("{} {value}", name.replace('_', " ")))
        .collect();
    let limits = if limits.is_empty() { "none".to_string() } else { limits.join(", ") };
    writeln!(out, "  limits     {}", wide(&limits))?;
    if device.backend != "cpu" {
        let shapes = device.limits.pass_shapes;
        writeln!(out, "  passes     {}", wide(&format!("point {}; area {}", shapes.point, shapes.area)))?;
    }
    if full {
        if !device.storage_formats.is_empty() {
            writeln!(out, "  storage    {}", wide(&device.storage_formats.join(", ")))?;
        }
        for lack in device.lacks() {
            writeln!(out, "  without    {}", wide(&format!("{}: {}", lack.what, lack.instead)))?;
        }
        for fault in &device.faults {
            writeln!(out, "  fault      {}", wide(fault))?;
        }
        // As the driver interface names them: those that matter to a kernel, and all others.
        for line in device.all_limits.lines().filter(|line| line.contains(':')) {
            writeln!(out, "    {}", line.trim().trim_end_matches(','))?;
        }
        writeln!(out, "  verdict    {}", device.verdict())?;
    }
    writeln!(out)
}
