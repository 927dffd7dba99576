//! A folder of pictures without a display: one program per kind of picture, decoding while frames are in flight.
//!
//! `cargo run --release --example headless_batch -- assets /tmp/thumbnails`

use cyanotype::{Context, Description, Error, Graph, Image, Program, Result};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let from = PathBuf::from(arguments.next().unwrap_or_else(|| "assets".into()));
    let to = arguments.next().map_or_else(|| std::env::temp_dir().join("thumbnails"), PathBuf::from);
    let failed = |path: &Path, error: std::io::Error| Error::Io { path: path.into(), message: error.to_string() };
    std::fs::create_dir_all(&to).map_err(|error| failed(&to, error))?;

    let context = Context::new()?;
    println!("{}", context.description());
    let graph = Graph::parse("resize 256 filter=lanczos3 | unsharp 1 0.5 | auto-levels")?;
    let mut programs: HashMap<Description, Program> = HashMap::new();
    let mut in_flight = Vec::new();
    for entry in std::fs::read_dir(&from).map_err(|error| failed(&from, error))? {
        let path = entry.map_err(|error| failed(&from, error))?.path();
        let image = match Image::open(&path) {
            Ok(image) => image,
            Err(error) => {
                eprintln!("left out: {error}");
                continue;
            }
        };
        let description = image.description();
        let program = match programs.entry(description) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(context.compile(&graph, &[("in", description)])?),
        };
        // Waits only when as many frames are in flight as the context allows.
        let name = path.file_stem().unwrap_or_default().to_os_string();
        in_flight.push((name, program.submit(&[("in", &image)])?));
    }
    for (name, readback) in in_flight {
        let mut path = to.join(name);
        path.set_extension("png");
        let result = readback.wait()?.image("out")?;
        result.save(&path)?;
        println!("{} {}", path.display(), result.description());
    }
    Ok(())
}
