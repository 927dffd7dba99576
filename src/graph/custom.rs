//! Operators of the user's own: WGSL text, and optionally a closure for the CPU. They fuse like built-in ones.
//!
//! A point operator is one function `fn NAME(color: vec4f, ...) -> vec4f`; an area operator is
//! `fn NAME(window: array<vec4f, N>, ...) -> vec4f` with N the square of an odd side. Every further parameter of type
//! `f32` is a parameter of the operator; `at: vec2f` and `extent: vec2f` are the pixel's centre and the picture's size.
//! Colours come straight in point operators, premultiplied in area operators.

use super::lower::{Builder, Value};
use crate::error::{Error, Result, nearest};
use crate::op::{Edge, Field, FieldType, Kernel, Place, Planes, PlanesMut, Rgba, Rows};
use crate::shader;
use std::sync::Arc;

type PointCode = Arc<dyn Fn(Rgba, &[f32]) -> Rgba + Send + Sync>;
type AreaCode = Arc<dyn Fn(&[Rgba], &[f32]) -> Rgba + Send + Sync>;

/// What a custom operator reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CustomKind {
    /// The same pixel.
    Point,
    /// A square window of `2 * radius + 1` pixels a side.
    Area { radius: u32 },
}

/// An operator given as WGSL text.
///
/// ```
/// use cyanotype::{CustomOperator, Graph};
/// # fn main() -> cyanotype::Result<()> {
/// let warm = CustomOperator::point(
///     "warm",
///     "fn warm(color: vec4f, amount: f32) -> vec4f {
///          return vec4f(color.r + amount, color.g, color.b - amount, color.a);
///      }",
/// )?
/// .parameter("amount", 0.1, -1.0..=1.0)?
/// .on_cpu(|[r, g, b, a], values| [r + values[0], g, b - values[0], a]);
/// let graph = Graph::new();
/// let out = graph.input("photo").custom(&warm.into(), &[("amount", 0.2)]);
/// graph.output("out", &out);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct CustomOperator {
    name: String,
    wgsl: String,
    kind: CustomKind,
    parameters: Vec<CustomParameter>,
    point: Option<PointCode>,
    area: Option<AreaCode>,
}

#[derive(Debug, Clone, PartialEq)]
struct CustomParameter {
    name: String,
    default: f32,
    min: f32,
    max: f32,
}

/// Largest radius of an area operator: its window is held in registers.
const RADIUS_LIMIT: u32 = 4;

impl std::fmt::Debug for CustomOperator {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "CustomOperator({})", self.name)
    }
}

impl PartialEq for CustomOperator {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.wgsl == other.wgsl
            && self.kind == other.kind
            && self.parameters == other.parameters
    }
}

impl CustomOperator {
    /// A point operator: the text's function `name` with hyphens as underscores.
    pub fn point(name: &str, wgsl: &str) -> Result<Self> {
        Self::new(name, wgsl, CustomKind::Point)
    }

    /// An area operator of the given radius, 1 to 4.
    pub fn area(name: &str, wgsl: &str, radius: u32) -> Result<Self> {
        Self::new(name, wgsl, CustomKind::Area { radius })
    }

    pub(crate) fn new(name: &str, wgsl: &str, kind: CustomKind) -> Result<Self> {
        if let CustomKind::Area { radius } = kind
            && !(1..=RADIUS_LIMIT).contains(&radius)
        {
            return Err(Error::BadParameter {
                operator: name.into(),
                parameter: "radius".into(),
                expected: format!("a whole number from 1 to {RADIUS_LIMIT}"),
                found: radius.to_string(),
            });
        }
        let mut letters = name.chars();
        if !letters.next().is_some_and(|c| c.is_ascii_lowercase())
            || !letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_')
        {
            let message = "a name is lower-case letters, digits, hyphens and underscores, a letter first".into();
            return Err(Error::BadInput { operator: name.into(), message });
        }
        let first = match kind {
            CustomKind::Point => ("color", "vec4f".to_string()),
            CustomKind::Area { radius } => {
                let side = 2 * radius + 1;
                ("window", format!("array<vec4f, {}>", side * side))
            }
        };
        let parameters = shader::check_custom(name, wgsl, first)?
            .into_iter()
            .map(|name| CustomParameter { name, default: 0.0, min: f32::MIN, max: f32::MAX })
            .collect();
        Ok(CustomOperator { name: name.into(), wgsl: wgsl.into(), kind, parameters, point: None, area: None })
    }

    /// Gives a parameter of the text a default and a range.
    pub fn parameter(mut self, name: &str, default: f32, range: std::ops::RangeInclusive<f32>) -> Result<Self> {
        let index = self.parameter_index(name)?;
        let (min, max) = range.into_inner();
        if let Some(slot) = self.parameters.get_mut(index) {
            (slot.min, slot.max) = (min, max);
            slot.default = default;
        }
        self.check(index, default)?;
        Ok(self)
    }

    /// Code for the CPU backend: one pixel and the parameters in the text's order. For point operators.
    pub fn on_cpu(mut self, code: impl Fn(Rgba, &[f32]) -> Rgba + Send + Sync + 'static) -> Self {
        self.point = Some(Arc::new(code));
        self
    }

    /// Code for the CPU backend: a window, row by row, and the parameters. For area operators.
    pub fn on_cpu_window(mut self, code: impl Fn(&[Rgba], &[f32]) -> Rgba + Send + Sync + 'static) -> Self {
        self.area = Some(Arc::new(code));
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The WGSL text.
    pub fn wgsl(&self) -> &str {
        &self.wgsl
    }

    /// What it reads.
    pub fn kind(&self) -> CustomKind {
        self.kind
    }

    /// (name, default, min, max) of each parameter.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, f32, f32, f32)> {
        self.parameters
            .iter()
            .map(|parameter| (parameter.name.as_str(), parameter.default, parameter.min, parameter.max))
    }

    pub(crate) fn defaults(&self) -> Vec<f32> {
        self.parameters.iter().map(|parameter| parameter.default).collect()
    }

    pub(crate) fn parameter_index(&self, name: &str) -> Result<usize> {
        self.parameters.iter().position(|parameter| parameter.name == name).ok_or_else(|| Error::UnknownParameter {
            operator: self.name.clone(),
            name: name.into(),
            suggestion: nearest(name, self.parameters.iter().map(|parameter| parameter.name.as_str())),
        })
    }

    pub(crate) fn check(&self, index: usize, value: f32) -> Result<()> {
        let Some(parameter) = self.parameters.get(index) else { return Ok(()) };
        if value >= parameter.min && value <= parameter.max {
            return Ok(());
        }
        Err(Error::BadParameter {
            operator: self.name.clone(),
            parameter: parameter.name.clone(),
            expected: format!("a number from {} to {}", parameter.min, parameter.max),
            found: value.to_string(),
        })
    }

    pub(crate) fn lower(&self, builder: &mut Builder, values: &[f32], inputs: &[Value]) -> Result<Value> {
        let &[input] = inputs else {
            let message = format!("reads one picture, given {}", inputs.len());
            return Err(Error::BadInput { operator: self.name.clone(), message });
        };
        let fields = self.parameters.iter().map(|parameter| Field {
            name: parameter.name.clone(),
            wgsl: f32::wgsl(),
            align: f32::ALIGN,
            size: f32::SIZE,
            choice: false,
        });
        let kernel = Kernel {
            name: self.name.as_str().into(),
            wgsl: self.wgsl.as_str().into(),
            struct_name: "Parameters".into(),
            fields: fields.collect(),
            words: values.iter().map(|value| value.to_bits()).collect(),
            table: None,
            // Unknown code: taken for a few cheap operators, so that it is not recomputed lightly.
            cost: 3.0,
            positional: true,
            identity: false,
            matrix: None,
            affine: None,
            foreign: true,
            rows: self.rows(values),
        };
        Ok(match self.kind {
            CustomKind::Point => {
                // What the text does to grey is unknown, so the result counts as colour.
                builder.point_to(input, kernel, crate::op::Channels::Color)
            }
            CustomKind::Area { radius } => builder.window_step(input, radius, Edge::Clamp, kernel),
        })
    }

    fn rows(&self, values: &[f32]) -> Rows {
        let values: Arc<[f32]> = values.into();
        match (self.kind, &self.point, &self.area) {
            (CustomKind::Point, Some(code), _) => {
                let code = Arc::clone(code);
                Rows::Point(Arc::new(move |planes: PlanesMut, _: Place| {
                    for index in 0..planes.len() {
                        let color = [planes.r[index], planes.g[index], planes.b[index], planes.a[index]];
                        let [r, g, b, a] = code(color, &values);
                        (planes.r[index], planes.g[index], planes.b[index], planes.a[index]) = (r, g, b, a);
                    }
                }))
            }
            (CustomKind::Area { radius }, _, Some(code)) => {
                let code = Arc::clone(code);
                let side = 2 * radius as usize + 1;
                Rows::Window(Arc::new(move |rows: &[Planes], out: PlanesMut, _: Place| {
                    let mut window = Vec::with_capacity(side * side);
                    for index in 0..out.len() {
                        window.clear();
                        for planes in rows {
                            for x in index..index + side {
                                window.push([planes.r[x], planes.g[x], planes.b[x], planes.a[x]]);
                            }
                        }
                        let [r, g, b, a] = code(&window, &values);
                        (out.r[index], out.g[index], out.b[index], out.a[index]) = (r, g, b, a);
                    }
                }))
            }
            _ => Rows::Missing,
        }
    }
}
