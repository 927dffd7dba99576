//! `tune`: measures kernel shapes on the device, and keeps the best.

use super::output::print;
use super::{Common, Failure, Outcome, say};
use cyanotype::compute::{TUNABLE, TuneOptions, TuneReport};

/// How it is said.
pub struct Style {
    /// The whole sweep.
    pub table: bool,
    /// As JSON.
    pub json: bool,
}

pub fn run(common: &Common, kernel: Option<&str>, elements: usize, dry: bool, style: Style) -> Outcome {
    let context = common.context(1)?;
    let mut options = TuneOptions { elements, ..TuneOptions::default() };
    if dry {
        options.file = None;
    }
    let kernels: Vec<&str> = kernel.map_or(TUNABLE.to_vec(), |kernel| vec![kernel]);
    let mut reports: Vec<TuneReport> = Vec::new();
    for kernel in kernels {
        let report = context.tune(kernel, &options)?;
        if !style.json {
            print(|out| match style.table {
                true => writeln!(out, "{report}"),
                false => {
                    let chosen = report.rows.iter().find(|row| row.remark.contains("chosen"));
                    let chosen = chosen.map_or("the default", |row| row.shape.as_str());
                    writeln!(out, "{kernel}: {chosen}, {:.2} of the default's time", report.against_default)
                }
            })?;
        }
        reports.push(report);
    }
    if style.json {
        let json = serde_json::to_value(&reports)
            .map_err(|error| Failure::Failed(format!("the tables cannot be written as JSON: {error}")))?;
        print(|out| writeln!(out, "{json:#}"))?;
    }
    if let Some(file) = &options.file {
        say(&format!("kept in {}", file.display()));
    }
    Ok(())
}
