//! How long a frame took: what both backends measure, and neither explains.

/// Whether the time of a frame is measured, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// It is not.
    #[default]
    Off,
    /// As it runs: its passes by the device's own clock, or not at all where that is missing or known to be wrong.
    Running,
    /// As [`Running`](Profile::Running), but where the device's clock is missing or wrong each pass runs alone, with the
    /// device idle before and after, and is timed by the host's clock. Other frames wait meanwhile.
    PassByPass,
}

/// Where the time of a frame went, in milliseconds.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
pub struct Timings {
    /// Copying pictures and parameters to where the device reads them; transfers over a bus are not in it. Zero on the CPU.
    pub upload_ms: f64,
    /// Each pass in order; passes that the CPU carries out together are one entry.
    pub passes: Vec<PassTime>,
    /// Copying results back. Zero on the CPU.
    pub readback_ms: f64,
    /// From the start of the work to its delivery.
    pub total_ms: f64,
}

/// The time of a pass.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct PassTime {
    /// Its operators' names.
    pub label: String,
    /// `None` where it was not measured, or the device answered zero.
    pub milliseconds: Option<f64>,
    /// Whether by the device's clock; else by the host's.
    pub by_device: bool,
    /// Bytes that it moves at least: what it reads and writes, each once. `None` on the CPU, where it depends on caches.
    pub bytes: Option<u64>,
}

impl PassTime {
    /// Gigabytes moved in a second. `None` where time or bytes are not known.
    pub fn bandwidth(&self) -> Option<f64> {
        Some(self.bytes? as f64 / 1e6 / self.milliseconds?.max(1e-9))
    }
}

impl Timings {
    /// The sum of all passes. `None` if one was not measured.
    pub fn passes_ms(&self) -> Option<f64> {
        // The sum of nothing is -0.0, which would be printed so.
        self.passes.iter().map(|pass| pass.milliseconds).sum::<Option<f64>>().map(|sum| sum + 0.0)
    }
}

/// A duration in the unit of [`Timings`].
pub(crate) fn milliseconds(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
