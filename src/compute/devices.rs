//! What a device means to an author of kernels: what is missing, what the engine does about it, and the verdict in a line.

use crate::context::DeviceInfo;

/// Something that a device lacks, and what is done instead.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Lack {
    pub what: String,
    pub instead: String,
}

/// Features by wgpu's name, what they are, and what is done without.
const FEATURES: [(&str, &str, &str); 6] = [
    ("TIMESTAMP_QUERY", "a clock of its own", "passes and dispatches are timed one by one by the host's clock"),
    ("MAPPABLE_PRIMARY_BUFFERS", "memory that host and kernels use alike", "data is copied through staging buffers"),
    ("SHADER_F16", "arithmetic on half floats", "halfs are storage only, unpacked by integers and computed as floats"),
    ("SUBGROUP", "subgroups", "reductions and scans go through workgroup memory, as on every device"),
    ("INDIRECT_EXECUTION", "indirect dispatch", "Grid::Counted and Grid::Indirect fail; read the count back"),
    ("SHADER_INT64", "integers of 64 bits", "sums past 2^32 are carried in two words"),
];

impl DeviceInfo {
    /// What the device lacks. Nothing for the CPU, and nothing for a device that cannot be used at all.
    pub fn lacks(&self) -> Vec<Lack> {
        if self.backend == "cpu" || self.unusable.is_some() {
            return Vec::new();
        }
        let lack = |what: String, instead: &str| Lack { what, instead: instead.to_string() };
        let missing = FEATURES.iter().filter(|(name, ..)| !self.features.iter().any(|known| known == name));
        let mut found: Vec<Lack> = missing.map(|(_, what, instead)| lack(what.to_string(), instead)).collect();
        let limits = &self.limits;
        let small = [
            (
                "invocations of a workgroup",
                u64::from(limits.workgroup_invocations),
                256,
                "defaults shrink to what fits",
            ),
            (
                "bytes of workgroup memory",
                u64::from(limits.workgroup_memory),
                16 << 10,
                "large histograms count in global memory",
            ),
            (
                "storage buffers of a kernel",
                u64::from(limits.storage_buffers),
                8,
                "the engine's kernels use four at most",
            ),
            (
                "bytes of a storage binding",
                limits.storage_binding_size,
                128 << 20,
                "larger buffers are refused; graphs of larger pictures run on the CPU",
            ),
            ("texels a side of a texture", u64::from(limits.texture_size), 8192, "longer values lie in several layers"),
            (
                "workgroups along one dimension",
                u64::from(limits.workgroups),
                65535,
                "work over one dimension folds over two",
            ),
        ];
        let below = small.into_iter().filter(|(_, value, usual, _)| value < usual);
        found.extend(
            below.map(|(what, value, usual, instead)| {
                lack(format!("{what}: {value}, where {usual} are usual"), instead)
            }),
        );
        found
    }

    /// One line: whether kernels run on it, or why they run on the CPU.
    pub fn verdict(&self) -> String {
        match &self.unusable {
            _ if self.backend == "cpu" => "compute runs on the CPU".to_string(),
            Some(reason) => format!("falls back to the CPU because {reason}"),
            None if self.software => {
                "compute usable, but only when asked for by name: it is a software rasteriser, so the CPU is taken by default"
                    .to_string()
            }
            None => "compute usable".to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::recording::Limits;

    #[test]
    fn lacks_and_verdicts() {
        let weak = DeviceInfo {
            name: "phone".into(),
            backend: "gl".into(),
            kind: "integrated".into(),
            driver: String::new(),
            software: false,
            limits: Limits::DOWNLEVEL,
            features: vec!["INDIRECT_EXECUTION".into()],
            storage_formats: Vec::new(),
            all_limits: String::new(),
            faults: Vec::new(),
            unusable: None,
        };
        let lacks: Vec<String> = weak.lacks().into_iter().map(|lack| lack.what).collect();
        assert!(lacks.iter().any(|what| what.contains("128, where 256")), "{lacks:?}");
        assert!(lacks.iter().any(|what| what == "subgroups") && !lacks.iter().any(|what| what.contains("indirect")));
        assert_eq!(weak.verdict(), "compute usable");
        let broken = DeviceInfo { unusable: Some("it has no compute shaders".into()), ..weak };
        assert_eq!(broken.verdict(), "falls back to the CPU because it has no compute shaders");
        assert!(broken.lacks().is_empty());
    }
}
