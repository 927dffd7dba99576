//! How long a frame took: what both backends measure, and neither explains.

/// Where the time of a frame went, in milliseconds.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
pub struct Timings {
    /// Copying pictures and parameters to where the device reads them; transfers over a bus are not in it. Zero on the CPU.
    pub upload_ms: f64,
    /// Each pass in order under its operators' names; passes that the CPU carries out together are one entry. `None` where
    /// the device has no timestamps or answered zero.
    pub passes: Vec<(String, Option<f64>)>,
    /// Copying results back. Zero on the CPU.
    pub readback_ms: f64,
    /// From the start of the work to its delivery.
    pub total_ms: f64,
}

/// A duration in the unit of [`Timings`].
pub(crate) fn milliseconds(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
