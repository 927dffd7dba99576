//! Matrix products, filters and Fourier transforms, against definitions in double precision.

use crate::common::{Random, seed};
use crate::{on_each, some_of};
use cyanotype::Error;
use cyanotype::compute::{Extent, Matrix, Product};
use half::f16;

fn uniform(random: &mut Random, length: usize) -> Vec<f32> {
    (0..length).map(|_| random.between(-1.0, 1.0)).collect()
}

fn product(a: &[f32], b: &[f32], [rows, inner, columns]: [usize; 3]) -> Vec<f64> {
    let element =
        |y: usize, x: usize| (0..inner).map(|k| f64::from(a[y * inner + k]) * f64::from(b[k * columns + x])).sum();
    (0..rows * columns).map(|i| element(i / columns, i % columns)).collect()
}

/// Sums of `terms` products of numbers up to one: each step rounds to half a unit of a partial sum that stays below the
/// number of terms, and errors of random sign add up like a walk.
fn close(found: &[f32], expected: &[f64], terms: usize, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let bound = 4.0 * f64::from(f32::EPSILON) * (terms as f64).max(4.0);
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((f64::from(*found) - expected).abs() <= bound, "{what}: [{index}] is {found}, must be {expected}");
    }
}

#[test]
fn products_of_all_shapes_by_all_ways() {
    let mut random = Random(seed());
    on_each(|context| {
        for sizes in some_of([[1, 1, 1], [2, 3, 4], [4, 4, 8], [5, 7, 9], [33, 17, 65], [64, 64, 64], [100, 130, 70]]) {
            let [rows, inner, columns] = sizes;
            let (a, b) = (uniform(&mut random, rows * inner), uniform(&mut random, inner * columns));
            let expected = product(&a, &b, sizes);
            let half = |values: &[f32]| values.iter().map(|&x| f16::from_f32(x)).collect::<Vec<_>>();
            let single = |values: &[f16]| values.iter().map(|x| x.to_f32()).collect::<Vec<_>>();
            let (half_a, half_b) = (half(&a), half(&b));
            let expected_half = product(&single(&half_a), &single(&half_b), sizes);
            let (first, second) =
                (Matrix::new(context.buffer(&a)?, rows, inner)?, Matrix::new(context.buffer(&b)?, inner, columns)?);
            let (narrow, thin) = (
                Matrix::new(context.buffer(&half_a)?, rows, inner)?,
                Matrix::new(context.buffer(&half_b)?, inner, columns)?,
            );
            for way in Product::ALL {
                let found = first.multiply_by(&second, way)?;
                assert_eq!((found.rows(), found.columns()), (rows, columns));
                close(&found.buffer().read().wait()?, &expected, inner, &format!("{sizes:?} {way:?}"));
                let found = narrow.multiply_by(&thin, way)?.buffer().read().wait()?;
                close(&found, &expected_half, inner, &format!("{sizes:?} {way:?} in halfs"));
            }
            let vector = first.multiply_vector(&context.buffer(&b[..inner])?)?.read().wait()?;
            close(&vector, &product(&a, &b[..inner], [rows, inner, 1]), inner, &format!("{sizes:?} times a vector"));
        }
        let wide = Matrix::new(context.buffer(&[1.0f32; 6])?, 2, 3)?;
        match wide.multiply(&wide).map(|_| ()) {
            Err(Error::BadInput { message, .. }) => assert!(message.contains("2 x 3 times 2 x 3"), "{message}"),
            other => panic!("{other:?}"),
        }
        assert!(matches!(Matrix::new(context.buffer(&[1.0f32; 6])?, 4, 2), Err(Error::BadInput { .. })));
        let empty = Matrix::new(context.buffer::<f32>(&[])?, 0, 3)?;
        assert_eq!(empty.multiply(&wide.transpose()?)?.buffer().len(), 0);
        Ok(())
    });
}

/// llvmpipe leaves a loop after 65535 rounds: sums of more terms are made in parts.
#[test]
fn sums_of_many_terms_are_whole() {
    on_each(|context| {
        // Exact in floats.
        let inner = 300_005;
        let ones = |count: usize| context.buffer(&vec![1.0f32; count]);
        let (a, b) = (Matrix::new(ones(2 * inner)?, 2, inner)?, Matrix::new(ones(3 * inner)?, inner, 3)?);
        for way in Product::ALL {
            let found = a.multiply_by(&b, way)?.buffer().read().wait()?;
            assert_eq!(found, [inner as f32; 6], "{way:?}");
        }
        let long = 9_000_001;
        let found = Matrix::new(ones(long)?, 1, long)?.multiply_vector(&ones(long)?)?.read().wait()?;
        assert_eq!(found, [long as f32]);
        // Rows in pieces, and a row itself.
        for [rows, columns] in [[600, 501], [2, 150_003]] {
            let taps = vec![1.0; rows * columns];
            let signal = ones((rows + 1) * (columns + 1))?;
            let found = signal.convolve_2d([rows + 1, columns + 1], &taps, [rows, columns], Extent::Valid)?;
            assert_eq!(found.read().wait()?, [(rows * columns) as f32; 4], "{rows} x {columns} taps");
        }
        Ok(())
    });
}

#[test]
fn infinities_stay_in_their_row() {
    on_each(|context| {
        let mut a = vec![1.0f32; 5 * 7];
        a[2 * 7 + 3] = f32::INFINITY;
        let (a, b) = (Matrix::new(context.buffer(&a)?, 5, 7)?, Matrix::new(context.buffer(&[1.0f32; 7 * 3])?, 7, 3)?);
        let found = a.multiply(&b)?.buffer().read().wait()?;
        for (index, value) in found.iter().enumerate() {
            assert_eq!(*value, if index / 3 == 2 { f32::INFINITY } else { 7.0 });
        }
        let mut signal = vec![1.0f32; 20];
        signal[10] = f32::INFINITY;
        let found = context.buffer(&signal)?.fir(&[1.0; 5])?.read().wait()?;
        for (index, value) in found.iter().enumerate() {
            assert_eq!(value.is_infinite(), (10..15).contains(&index), "{index}: {value}");
            assert!(!value.is_nan());
        }
        Ok(())
    });
}

fn convolution(signal: &[f32], kernel: &[f32]) -> Vec<f64> {
    let mut full = vec![0.0; signal.len() + kernel.len() - 1];
    for (i, &x) in signal.iter().enumerate() {
        for (j, &h) in kernel.iter().enumerate() {
            full[i + j] += f64::from(x) * f64::from(h);
        }
    }
    full
}

#[test]
fn convolutions_and_filters() {
    let mut random = Random(seed());
    on_each(|context| {
        for (length, taps) in [(1, 1), (2, 3), (7, 4), (65, 5), (257, 64), (1000, 31), (5000, 600), (3000, 1025)] {
            let (signal, kernel) = (uniform(&mut random, length), uniform(&mut random, taps));
            let full = convolution(&signal, &kernel);
            let buffer = context.buffer(&signal)?;
            let what = |name: &str| format!("{name} of {length} with {taps}");
            // By Fourier transforms every output is a sum over the whole piece.
            let terms = 4 * taps;
            close(&buffer.convolve(&kernel, Extent::Full)?.read().wait()?, &full, terms, &what("full"));
            close(&buffer.fir(&kernel)?.read().wait()?, &full[..length], terms, &what("fir"));
            let same = &full[(taps - 1) / 2..][..length];
            close(&buffer.convolve(&kernel, Extent::Same)?.read().wait()?, same, terms, &what("same"));
            let valid = if taps <= length { &full[taps - 1..length] } else { &[] };
            close(&buffer.convolve(&kernel, Extent::Valid)?.read().wait()?, valid, terms, &what("valid"));
        }
        assert!(matches!(context.buffer(&[1.0f32])?.fir(&[]), Err(Error::BadInput { .. })));
        assert_eq!(context.buffer::<f32>(&[])?.fir(&[1.0])?.len(), 0);
        Ok(())
    });
}

/// Directly, and by transforms of pieces: a million samples are many pieces.
#[test]
fn long_signals_are_filtered_in_pieces() {
    let mut random = Random(seed());
    let (length, taps) = (1_000_003, [5, 700]);
    let signal = uniform(&mut random, length);
    let filters = taps.map(|taps| uniform(&mut random, taps));
    let expected = filters.each_ref().map(|filter| convolution(&signal, filter));
    on_each(|context| {
        let buffer = context.buffer(&signal)?;
        for (filter, expected) in filters.iter().zip(&expected) {
            let taps = filter.len();
            close(&buffer.fir(filter)?.read().wait()?, &expected[..length], 4 * taps, &format!("{taps} taps"));
        }
        Ok(())
    });
}

#[test]
fn convolution_over_two_dimensions() {
    let mut random = Random(seed());
    on_each(|context| {
        for ([rows, columns], [tap_rows, taps]) in
            [([1, 1], [3, 3]), ([5, 7], [3, 2]), ([65, 33], [5, 5]), ([30, 101], [1, 9]), ([40, 40], [7, 1])]
        {
            let (signal, kernel) = (uniform(&mut random, rows * columns), uniform(&mut random, tap_rows * taps));
            let (height, width) = (rows + tap_rows - 1, columns + taps - 1);
            let mut full = vec![0.0f64; height * width];
            for y in 0..rows * columns {
                for t in 0..tap_rows * taps {
                    let place = (y / columns + t / taps) * width + y % columns + t % taps;
                    full[place] += f64::from(signal[y]) * f64::from(kernel[t]);
                }
            }
            let part = |top: usize, left: usize, rows: usize, columns: usize| -> Vec<f64> {
                (0..rows * columns).map(|i| full[(top + i / columns) * width + left + i % columns]).collect()
            };
            let buffer = context.buffer(&signal)?;
            for (extent, expected) in [
                (Extent::Full, full.clone()),
                (Extent::Same, part((tap_rows - 1) / 2, (taps - 1) / 2, rows, columns)),
                (
                    Extent::Valid,
                    part(
                        tap_rows - 1,
                        taps - 1,
                        (rows + 1).saturating_sub(tap_rows),
                        (columns + 1).saturating_sub(taps).max(1),
                    ),
                ),
            ] {
                let found = buffer.convolve_2d([rows, columns], &kernel, [tap_rows, taps], extent)?.read().wait()?;
                close(
                    &found,
                    &expected,
                    tap_rows * taps,
                    &format!("{rows} x {columns}, {tap_rows} x {taps}, {extent:?}"),
                );
            }
        }
        Ok(())
    });
}

type Complex = [f64; 2];

fn transform(values: &[Complex]) -> Vec<Complex> {
    let length = values.len();
    let term = |n: usize, k: usize| {
        let (sine, cosine) = (-std::f64::consts::TAU * ((n * k) % length) as f64 / length as f64).sin_cos();
        let [re, im] = values[n];
        [re * cosine - im * sine, re * sine + im * cosine]
    };
    let sum = |k: usize| (0..length).map(|n| term(n, k)).fold([0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
    (0..length).map(sum).collect()
}

/// Errors of a transform, relative to its root mean square, grow with the number of passes (Gentleman and Sande 1966): some
/// units in the last place for each of up to twenty, thrice as many with Bluestein's three transforms.
fn near(found: &[[f32; 2]], expected: &[Complex], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = (expected.iter().map(|[re, im]| re * re + im * im).sum::<f64>() / expected.len().max(1) as f64).sqrt();
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (f64::from(found[0]) - expected[0]).hypot(f64::from(found[1]) - expected[1]);
        assert!(
            error <= 60.0 * f64::from(f32::EPSILON) * scale,
            "{what}: [{index}] is {found:?}, must be {expected:?}"
        );
    }
}

#[test]
fn transforms_of_any_length_and_back() {
    let mut random = Random(seed());
    on_each(|context| {
        for length in some_of([1, 2, 3, 4, 5, 7, 8, 12, 17, 60, 64, 97, 143, 243, 250, 256, 1000, 1009, 2048]) {
            let values: Vec<[f32; 2]> =
                (0..length).map(|_| [random.between(-1.0, 1.0), random.between(-1.0, 1.0)]).collect();
            let wide: Vec<Complex> = values.iter().map(|&[re, im]| [f64::from(re), f64::from(im)]).collect();
            let expected = transform(&wide);
            let buffer = context.buffer(&values)?;
            let spectrum = buffer.fft()?;
            near(&spectrum.read().wait()?, &expected, &format!("{length}"));
            near(&spectrum.inverse_fft()?.read().wait()?, &wide, &format!("{length} and back"));
            let reals: Vec<f32> = values.iter().map(|value| value[0]).collect();
            let wide: Vec<Complex> = reals.iter().map(|&re| [f64::from(re), 0.0]).collect();
            let half = context.buffer(&reals)?.fft()?;
            near(&half.read().wait()?, &transform(&wide)[..length / 2 + 1], &format!("{length} reals"));
            let back: Vec<[f32; 2]> =
                half.inverse_fft_real(length)?.read().wait()?.iter().map(|&re| [re, 0.0]).collect();
            near(&back, &wide, &format!("{length} reals and back"));
        }
        assert_eq!(context.buffer::<[f32; 2]>(&[])?.fft()?.len(), 0);
        Ok(())
    });
}

#[test]
fn a_long_transform_and_one_over_two_dimensions() {
    let mut random = Random(seed());
    on_each(|context| {
        let length = 1 << 20;
        let values: Vec<[f32; 2]> =
            (0..length).map(|_| [random.between(-1.0, 1.0), random.between(-1.0, 1.0)]).collect();
        let wide: Vec<Complex> = values.iter().map(|&[re, im]| [f64::from(re), f64::from(im)]).collect();
        let back = context.buffer(&values)?.fft()?.inverse_fft()?.read().wait()?;
        near(&back, &wide, "a million and back");
        let (rows, columns) = (30, 34);
        let wide = &wide[..rows * columns];
        let along: Vec<Complex> = wide.chunks(columns).flat_map(transform).collect();
        let mut expected = vec![[0.0; 2]; rows * columns];
        for x in 0..columns {
            let column: Vec<Complex> = (0..rows).map(|y| along[y * columns + x]).collect();
            transform(&column).iter().enumerate().for_each(|(y, &value)| expected[y * columns + x] = value);
        }
        let buffer = context.buffer(&values[..rows * columns])?;
        let spectrum = buffer.fft_2d(rows, columns)?;
        near(&spectrum.read().wait()?, &expected, "two dimensions");
        near(&spectrum.inverse_fft_2d(rows, columns)?.read().wait()?, wide, "two dimensions and back");
        assert!(matches!(buffer.fft_2d(30, 30), Err(Error::BadInput { .. })));
        Ok(())
    });
}
