//! Fourier transforms on the host, in double precision: the specification, what runs without a GPU, and where tables for the
//! kernels come from. Any length: by its prime factors, and Bluestein's way (1970) where one is large.

use std::f64::consts::TAU;

/// A complex number.
pub(super) type Complex = [f64; 2];

/// Prime factors up to here are transformed by the definition.
const LARGEST: usize = 31;

pub(super) fn times(a: Complex, b: Complex) -> Complex {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

fn plus(a: Complex, b: Complex) -> Complex {
    [a[0] + b[0], a[1] + b[1]]
}

/// e to the minus two pi i times `part` of `whole`.
pub(super) fn root(part: usize, whole: usize) -> Complex {
    let (sine, cosine) = (-TAU * (part % whole) as f64 / whole as f64).sin_cos();
    [cosine, sine]
}

/// The transform, without a scale.
pub(super) fn transform(values: &[Complex]) -> Vec<Complex> {
    let length = values.len();
    match smallest_factor(length) {
        None => values.to_vec(),
        Some(prime) if prime == length && prime > LARGEST => bluestein(values),
        Some(prime) => {
            // Every prime-th value, transformed, then combined.
            let parts: Vec<Vec<Complex>> = (0..prime)
                .map(|start| transform(&values.iter().skip(start).step_by(prime).copied().collect::<Vec<_>>()))
                .collect();
            let shorter = length / prime;
            (0..length)
                .map(|k| {
                    let term =
                        |(number, part): (usize, &Vec<Complex>)| times(part[k % shorter], root(number * k, length));
                    parts.iter().enumerate().map(term).fold([0.0; 2], plus)
                })
                .collect()
        }
    }
}

/// The inverse transform, divided by the length.
pub(super) fn inverse(values: &[Complex]) -> Vec<Complex> {
    let length = values.len().max(1) as f64;
    let conjugate: Vec<Complex> = values.iter().map(|&[re, im]| [re, -im]).collect();
    transform(&conjugate).iter().map(|&[re, im]| [re / length, -im / length]).collect()
}

fn smallest_factor(length: usize) -> Option<usize> {
    (length > 1)
        .then(|| (2..).take_while(|factor| factor * factor <= length).find(|factor| length.is_multiple_of(*factor)))?
        .or(Some(length))
}

/// e to the minus pi i k^2 / n, for each k below n.
pub(super) fn chirp(length: usize) -> Vec<Complex> {
    // The square counts modulo 2n, so that large k keep their digits.
    (0..length).map(|k| root((k as u128 * k as u128 % (2 * length as u128)) as usize, 2 * length)).collect()
}

/// The length of Bluestein's convolution, and the spectrum of the conjugate chirp.
pub(super) fn bluestein_spectrum(chirp: &[Complex]) -> Vec<Complex> {
    let length = chirp.len();
    let padded = (2 * length - 1).next_power_of_two();
    let mut kernel = vec![[0.0; 2]; padded];
    for (k, &[re, im]) in chirp.iter().enumerate() {
        kernel[k] = [re, -im];
        kernel[(padded - k) % padded] = [re, -im];
    }
    transform(&kernel)
}

fn bluestein(values: &[Complex]) -> Vec<Complex> {
    let chirp = chirp(values.len());
    let spectrum = bluestein_spectrum(&chirp);
    let mut signal = vec![[0.0; 2]; spectrum.len()];
    for ((place, &value), &factor) in signal.iter_mut().zip(values).zip(&chirp) {
        *place = times(value, factor);
    }
    let product: Vec<Complex> = transform(&signal).iter().zip(&spectrum).map(|(&a, &b)| times(a, b)).collect();
    inverse(&product).iter().zip(&chirp).map(|(&value, &factor)| times(value, factor)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transforms_are_what_the_definition_says() {
        for length in [1_usize, 2, 3, 4, 5, 6, 12, 17, 30, 37, 74, 101] {
            let values: Vec<Complex> = (0..length).map(|i| [(i * i % 7) as f64 - 3.0, (i % 5) as f64]).collect();
            let found = transform(&values);
            for (k, found) in found.iter().enumerate() {
                let term = |(n, &value): (usize, &Complex)| times(value, root(n * k, length));
                let expected = values.iter().enumerate().map(term).fold([0.0; 2], plus);
                let error = (found[0] - expected[0]).hypot(found[1] - expected[1]);
                // Sums of a hundred values below ten, in double precision.
                assert!(error < 1e-11, "{length}: {k}: {found:?} {expected:?}");
            }
            let back = inverse(&found);
            assert!(back.iter().zip(&values).all(|(a, b)| (a[0] - b[0]).hypot(a[1] - b[1]) < 1e-12));
        }
    }
}
