//! Against NumPy and SciPy, on small data whose results are in `expected/peers.json`; `expected/make.py` makes them anew.

use crate::common::Random;
use crate::on_each;
use cyanotype::compute::{Extent, Matrix};
use serde_json::Value;

fn floats(seed: u64, count: usize) -> Vec<f32> {
    let mut random = Random(seed);
    (0..count).map(|_| ((random.next() >> 40) as f64 / (1 << 23) as f64 - 1.0) as f32).collect()
}

fn words(seed: u64, count: usize) -> Vec<u32> {
    let mut random = Random(seed);
    (0..count).map(|_| random.next() as u32).collect()
}

struct Expected(Value);

impl Expected {
    fn number(&self, name: &str) -> f64 {
        self.0[name].as_f64().unwrap_or_else(|| panic!("{name}"))
    }

    fn numbers(&self, name: &str) -> Vec<f64> {
        let flat = |value: &Value| match value {
            Value::Array(pair) => pair.iter().map(|part| part.as_f64().unwrap()).collect(),
            single => vec![single.as_f64().unwrap()],
        };
        self.0[name].as_array().unwrap_or_else(|| panic!("{name}")).iter().flat_map(flat).collect()
    }

    fn words(&self, name: &str) -> Vec<u32> {
        self.numbers(name).iter().map(|&number| number as u32).collect()
    }

    /// Sums of at most 200 numbers below one, in single precision: 200 roundings of partial sums that stay below 20.
    fn close(&self, name: &str, found: &[f32]) {
        let expected = self.numbers(name);
        assert_eq!(found.len(), expected.len(), "{name}");
        for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert!((f64::from(*found) - expected).abs() <= 2e-5, "{name}[{index}]: {found}, must be {expected}");
        }
    }
}

fn flat(pairs: Vec<[f32; 2]>) -> Vec<f32> {
    pairs.concat()
}

#[test]
fn results_are_those_of_numpy_and_scipy() {
    let expected = Expected(serde_json::from_str(include_str!("expected/peers.json")).unwrap());
    on_each(|context| {
        let (x, keys) = (context.buffer(&floats(1, 200))?, context.buffer(&words(3, 300))?);
        let small: Vec<u32> = {
            let mut random = Random(4);
            (0..300).map(|_| (random.next() % 16) as u32).collect()
        };
        let small = context.buffer(&small)?;
        let mut special = floats(5, 64);
        (special[7], special[30]) = (f32::NAN, f32::NAN);
        let special = context.buffer(&special)?;
        for (name, found) in [
            ("sum", x.sum().wait()?),
            ("mean", x.mean().wait()?),
            ("variance", x.variance(0).wait()?),
            ("sample_variance", x.variance(1).wait()?),
        ] {
            assert!((f64::from(found) - expected.number(name)).abs() <= 2e-6, "{name}: {found}");
        }
        assert_eq!(keys.sum().wait()? as f64, expected.number("integer_sum"));
        for (name, found) in [
            ("argmin", x.argmin()),
            ("argmax", x.argmax()),
            ("nan_argmin", special.argmin()),
            ("nan_argmax", special.argmax()),
        ] {
            assert_eq!(found.wait()?.map(|index| index as f64), Some(expected.number(name)), "{name}");
        }
        for (name, found) in [
            ("cumsum", keys.scan()?),
            ("bincount", small.histogram(16)?),
            ("histogram", x.histogram(10, -0.9, 0.8)?),
            ("sort", keys.sort()?),
            ("argsort", small.argsort()?),
            ("nan_argsort", special.argsort()?),
        ] {
            assert_eq!(found.read().wait()?, expected.words(name), "{name}");
        }
        let a = Matrix::new(context.buffer(&floats(6, 13 * 17))?, 13, 17)?;
        let b = Matrix::new(context.buffer(&floats(7, 17 * 11))?, 17, 11)?;
        expected.close("product", &a.multiply(&b)?.buffer().read().wait()?);
        let kernel = floats(2, 9);
        expected.close("lfilter", &x.fir(&kernel)?.read().wait()?);
        let (picture, window) = (context.buffer(&floats(8, 12 * 15))?, floats(9, 12));
        for (name, extent) in [("full", Extent::Full), ("same", Extent::Same), ("valid", Extent::Valid)] {
            expected.close(name, &x.convolve(&kernel, extent)?.read().wait()?);
            let found = picture.convolve_2d([12, 15], &window, [3, 4], extent)?.read().wait()?;
            expected.close(&format!("convolve2d_{name}"), &found);
        }
        let z: Vec<[f32; 2]> = floats(10, 45).into_iter().zip(floats(11, 45)).map(|(re, im)| [re, im]).collect();
        let z = context.buffer(&z)?;
        expected.close("fft", &flat(z.fft()?.read().wait()?));
        expected.close("ifft", &flat(z.inverse_fft()?.read().wait()?));
        expected.close("fft2", &flat(z.fft_2d(5, 9)?.read().wait()?));
        expected.close("rfft", &flat(x.fft()?.read().wait()?));
        expected.close("prime_fft", &flat(z.view(..43)?.fft()?.read().wait()?));
        Ok(())
    });
}
