//! A graph in text form with its present values, and the looks of the Android application. Knows nothing of devices.

use crate::gesture::Direction;
use cyanotype::graph::NodeContent;
use cyanotype::op::{Argument, Parameter, ParameterKind};
use cyanotype::{Error, Graph, GraphData, Result};

/// A graph whose values are being changed.
#[derive(Debug, Clone)]
pub struct Document {
    name: String,
    text: String,
    data: GraphData,
    drags: Vec<Drag>,
}

/// A parameter that a finger changes: over `least..=most`, which is what is sensible in this look, not all that the
/// operator takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Drag {
    /// "node.parameter".
    pub path: String,
    pub least: f32,
    pub most: f32,
}

/// A parameter of a graph, as the registry declares it, with its present value.
#[derive(Debug, Clone)]
pub struct Setting {
    /// "node.parameter".
    pub path: String,
    pub declared: &'static Parameter,
    pub value: Argument,
}

impl Document {
    /// Parses a graph. Its first output must be a picture, which the engine finds out.
    pub fn new(name: &str, text: &str) -> Result<Self> {
        Ok(Document { name: name.into(), text: text.into(), data: Graph::parse(text)?.data(), drags: Vec::new() })
    }

    fn with_drags(mut self, drags: [(&str, f32, f32); 2]) -> Result<Self> {
        for (path, least, most) in drags {
            self.data.get(&self.data.find_parameter(path)?)?;
            self.drags.push(Drag { path: path.into(), least, most });
        }
        Ok(self)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// As it was parsed, with the values of then.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// With the present values.
    pub fn data(&self) -> &GraphData {
        &self.data
    }

    /// What fingers change: across, then along.
    pub fn drags(&self) -> &[Drag] {
        &self.drags
    }

    /// The drag in a direction.
    pub fn drag(&self, direction: Direction) -> Option<&Drag> {
        self.drags.get(match direction {
            Direction::Across => 0,
            Direction::Along => 1,
        })
    }

    /// A value.
    pub fn get(&self, path: &str) -> Result<Argument> {
        self.data.get(&self.data.find_parameter(path)?)
    }

    /// Changes a value, within what the operator takes.
    pub fn set(&mut self, path: &str, value: Argument) -> Result<()> {
        let handle = self.data.find_parameter(path)?;
        self.data.set(&handle, value)
    }

    /// Changes a value given as the text form writes it.
    pub fn set_text(&mut self, path: &str, value: &str) -> Result<()> {
        self.data.set_text(path, value)
    }

    /// Moves a dragged value by a part of its range. Says whether anything changed.
    pub fn drag_by(&mut self, direction: Direction, part: f32) -> Result<bool> {
        let Some(Drag { path, least, most }) = self.drag(direction).cloned() else { return Ok(false) };
        let Argument::Float(before) = self.get(&path)? else {
            return Err(Error::BadGraph(format!("{path} is not a number to drag")));
        };
        let after = (before + part * (most - least)).clamp(least, most);
        self.set(&path, Argument::Float(after))?;
        Ok(after != before)
    }

    /// All parameters of all operators, in the order of the graph.
    pub fn settings(&self) -> Vec<Setting> {
        let mut settings = Vec::new();
        for node in &self.data.nodes {
            if let NodeContent::Operator { arguments, .. } = &node.content {
                for (declared, value) in arguments.iter() {
                    let path = format!("{}.{}", node.name, declared.name);
                    settings.push(Setting { path, declared, value: value.clone() });
                }
            }
        }
        settings
    }
}

/// Name, graph, and what fingers change across and along: path, least, most.
type Look = (&'static str, &'static str, [(&'static str, f32, f32); 2]);

/// The looks, in the order of taps. What fingers change are numbers that enter kernels as uniforms, and none starts where
/// its operator does nothing and is left out of the program: dragging never compiles, which a test asserts.
const LOOKS: [Look; 8] = [
    (
        "Daylight",
        "exposure 0.15 as light | contrast 1.1 as contrast | saturation 1.2",
        [("light.stops", -2.0, 2.0), ("contrast.amount", 0.4, 2.0)],
    ),
    (
        "Glow",
        "gamma 1.1 as tone | blend (gaussian-blur 5 | exposure 0.3) screen opacity=0.5 as glow | contrast 1.15",
        [("glow.opacity", 0.0, 1.0), ("tone.gamma", 0.5, 2.0)],
    ),
    (
        "Crisp",
        "unsharp 1.6 1.2 as detail | saturation 1.15 as colour",
        [("detail.amount", 0.05, 4.0), ("colour.amount", 0.0, 2.5)],
    ),
    (
        "Old print",
        "sepia 0.8 as tone | levels out-black=0.08 out-white=0.94 | gamma 1.05 as light",
        [("tone.amount", 0.0, 1.0), ("light.gamma", 0.5, 2.0)],
    ),
    (
        "Other hues",
        "hue-rotate 40 as hue | saturation 1.3 as colour",
        [("hue.angle", -180.0, 180.0), ("colour.amount", 0.0, 2.5)],
    ),
    (
        "Watercolour",
        "median 5 | bilateral 3 0.12 as wash | saturation 1.35 as colour",
        [("wash.sigma-range", 0.02, 0.6), ("colour.amount", 0.0, 2.5)],
    ),
    (
        "Pencil",
        "grayscale | gaussian-blur 0.8 | sobel | exposure 1.6 as lead | invert | gamma 0.9 as paper",
        [("lead.stops", -1.0, 3.0), ("paper.gamma", 0.4, 1.6)],
    ),
    (
        "Cyanotype",
        "grayscale | contrast 1.2 as contrast | gamma 1.1 as light \
         | color-matrix [0.88 0 0 0.04  0 0.82 0 0.14  0 0 0.62 0.32]",
        [("light.gamma", 0.4, 2.5), ("contrast.amount", 0.5, 2.5)],
    ),
];

/// The looks of the Android application, which the desktop viewer offers too.
pub fn looks() -> Result<Vec<Document>> {
    LOOKS.into_iter().map(|(name, text, drags)| Document::new(name, text)?.with_drags(drags)).collect()
}

/// A value as it is shown: short, but never so short that a change cannot be seen.
pub fn shown(value: &Argument) -> String {
    match value {
        Argument::Float(value) if value.abs() >= 100.0 => format!("{value:.1}"),
        Argument::Float(value) => format!("{value:.3}"),
        other => other.to_string(),
    }
}

/// Whether a slider can show it.
pub fn is_number(parameter: &Parameter) -> bool {
    matches!(parameter.kind, ParameterKind::Float { .. } | ParameterKind::Integer { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cyanotype::{Context, Description, PixelFormat};

    #[test]
    fn every_look_compiles_and_dragging_recompiles_nothing() {
        let context = Context::new().unwrap();
        let description = Description::new(64, 48, PixelFormat::Rgb8);
        assert_eq!(looks().unwrap().len(), 8);
        for look in looks().unwrap() {
            let graph = Graph::from_data(look.data().clone());
            let program = context.compile(&graph, &[("in", description)]).unwrap();
            let compiled = context.counters().pipelines;
            let plan = program.plan();
            for drag in look.drags() {
                // Also where the operator does nothing: 0 and 1 are such places.
                let places = [drag.least, drag.most, (drag.least + drag.most) / 2.0, 0.0, 1.0];
                for value in places.into_iter().filter(|value| (drag.least..=drag.most).contains(value)) {
                    program.set(drag.path.as_str(), value).unwrap();
                    assert_eq!(context.counters().pipelines, compiled, "{}: {} {value}", look.name(), drag.path);
                    assert!(std::sync::Arc::ptr_eq(&plan, &program.plan()), "{}: {} {value}", look.name(), drag.path);
                }
            }
        }
    }

    #[test]
    fn a_drag_stays_within_its_range() {
        let mut look = looks().unwrap().remove(0);
        assert!(look.drag_by(Direction::Across, 0.25).unwrap());
        assert_eq!(look.get("light.stops").unwrap(), Argument::Float(1.15));
        assert!(look.drag_by(Direction::Across, 5.0).unwrap());
        assert_eq!(look.get("light.stops").unwrap(), Argument::Float(2.0));
        assert!(!look.drag_by(Direction::Across, 5.0).unwrap());
        assert!(look.drag_by(Direction::Along, -9.0).unwrap());
        assert_eq!(look.get("contrast.amount").unwrap(), Argument::Float(0.4));
    }

    #[test]
    fn settings_follow_the_registry() {
        let document = Document::new("test", "exposure 0.5 as light | gaussian-blur 2 edge=mirror").unwrap();
        let paths: Vec<String> = document.settings().into_iter().map(|setting| setting.path).collect();
        assert_eq!(paths[0], "light.stops");
        let blur = cyanotype::ops::find("gaussian-blur").unwrap();
        let expected = blur.parameters.iter().map(|parameter| format!("gaussian-blur.{}", parameter.name));
        assert_eq!(paths[1..], expected.collect::<Vec<_>>());
    }
}
