//! Sums, extrema, moments, scans, histograms and compaction, against plain loops in wider arithmetic.

use crate::common::{Random, seed};
use crate::{SIZES, on_each};
use cyanotype::Error;

#[test]
fn integer_sums_are_exact_past_two_to_the_32() {
    let mut random = Random(seed());
    on_each(|context| {
        for size in SIZES {
            let unsigned: Vec<u32> = (0..size).map(|_| random.next() as u32 | 0x8000_0000).collect();
            let signed: Vec<i32> = unsigned.iter().map(|&word| word as i32).collect();
            let expected: u64 = unsigned.iter().map(|&word| u64::from(word)).sum();
            assert_eq!(context.buffer(&unsigned)?.sum().wait()?, expected, "{size} numbers");
            let expected: i64 = signed.iter().map(|&word| i64::from(word)).sum();
            assert_eq!(context.buffer(&signed)?.sum().wait()?, expected, "{size} numbers");
        }
        Ok(())
    });
}

#[test]
fn float_sums_go_by_a_tree() {
    let mut random = Random(seed());
    on_each(|context| {
        for size in SIZES {
            let numbers: Vec<f32> = (0..size).map(|_| random.between(0.0, 1.0)).collect();
            let exact: f64 = numbers.iter().map(|&x| f64::from(x)).sum();
            let found = f64::from(context.buffer(&numbers)?.sum().wait()?);
            // An element passes through at most 64 additions in a row and 20 levels of a tree, each within half a unit in
            // the last place; a loop over a million would be off by a thousand times more.
            assert!((found - exact).abs() <= exact * 84.0 * f64::from(f32::EPSILON) / 2.0, "{size}: {found} {exact}");
            let mean = f64::from(context.buffer(&numbers)?.mean().wait()?);
            assert!(size == 0 && mean.is_nan() || (mean - exact / size as f64).abs() < 1e-5, "{size}: {mean}");
        }
        // A loop in single precision would stop at 2^24.
        let many = vec![1.0f32; 20_000_000];
        assert_eq!(context.buffer(&many)?.sum().wait()?, 20_000_000.0);
        Ok(())
    });
}

#[test]
fn variance_survives_a_large_mean() {
    let mut random = Random(seed());
    on_each(|context| {
        for size in [1, 2, 3, 65, 1025, 100_003] {
            let numbers: Vec<f32> = (0..size).map(|_| 10_000.0 + random.between(-1.0, 1.0)).collect();
            let mean = numbers.iter().map(|&x| f64::from(x)).sum::<f64>() / size as f64;
            let squares: f64 = numbers.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum();
            let buffer = context.buffer(&numbers)?;
            let found = f64::from(buffer.variance(0).wait()?);
            let exact = squares / size as f64;
            // Deviations are exact to a unit in the last place of the mean, 1e-3, which the correction takes out again to
            // first order; what is left is the rounding of each deviation, which averages out.
            assert!((found - exact).abs() <= 1e-3 * exact + 1e-6, "{size}: {found} {exact}");
            let sample = f64::from(buffer.variance(1).wait()?);
            assert!(
                size == 1 && sample.is_nan() || (sample - squares / (size - 1) as f64).abs() <= 1e-3 * sample + 1e-6
            );
        }
        assert!(context.buffer::<f32>(&[])?.variance(0).wait()?.is_nan());
        Ok(())
    });
}

#[test]
fn extrema_and_where_they_are() {
    let mut random = Random(seed());
    on_each(|context| {
        for size in SIZES {
            // Few values, so that there are many equal ones and the first must be found.
            let numbers: Vec<f32> = (0..size).map(|_| random.below(1000) as f32 - 500.0).collect();
            let buffer = context.buffer(&numbers)?;
            let least = numbers.iter().copied().reduce(f32::min);
            let most = numbers.iter().copied().reduce(f32::max);
            assert_eq!((buffer.min().wait()?, buffer.max().wait()?), (least, most), "{size} numbers");
            let first = |wanted: Option<f32>| wanted.and_then(|wanted| numbers.iter().position(|&x| x == wanted));
            assert_eq!((buffer.argmin().wait()?, buffer.argmax().wait()?), (first(least), first(most)), "{size}");
            let signed: Vec<i32> = (0..size).map(|_| random.next() as i32).collect();
            let unsigned: Vec<u32> = (0..size).map(|_| random.next() as u32).collect();
            assert_eq!(context.buffer(&signed)?.min().wait()?, signed.iter().copied().min());
            assert_eq!(context.buffer(&unsigned)?.max().wait()?, unsigned.iter().copied().max());
        }
        let special = [1.0, f32::NEG_INFINITY, 5e-45, -5e-45, f32::INFINITY, -0.0, 0.0];
        let buffer = context.buffer(&special)?;
        assert_eq!((buffer.argmin().wait()?, buffer.argmax().wait()?), (Some(1), Some(4)));
        let denormals = context.buffer(&special[2..4])?;
        assert_eq!((denormals.min().wait()?, denormals.max().wait()?), (Some(-5e-45), Some(5e-45)));
        assert_eq!(context.buffer(&[0.0f32, -0.0])?.argmin().wait()?, Some(0), "zeros are equal");
        let zero = context.buffer(&[-0.0f32, 0.0])?;
        assert_eq!([zero.min().wait()?, zero.max().wait()?].map(|x| x.map(f32::to_bits)), [Some(0); 2], "no sign");
        let nan = context.buffer(&[1.0, f32::NAN, -1.0, f32::from_bits(0xffc0_0001)])?;
        assert!(nan.min().wait()?.is_some_and(f32::is_nan) && nan.max().wait()?.is_some_and(f32::is_nan));
        assert_eq!((nan.argmin().wait()?, nan.argmax().wait()?), (Some(1), Some(1)), "the first NaN");
        Ok(())
    });
}

#[test]
fn scans_of_all_sizes() {
    let mut random = Random(seed());
    on_each(|context| {
        for size in SIZES {
            let numbers: Vec<u32> = (0..size).map(|_| random.next() as u32).collect();
            let mut sum = 0u32;
            let inclusive: Vec<u32> = numbers
                .iter()
                .map(|&x| {
                    sum = sum.wrapping_add(x);
                    sum
                })
                .collect();
            let exclusive: Vec<u32> = inclusive.iter().zip(&numbers).map(|(&sum, &x)| sum.wrapping_sub(x)).collect();
            let buffer = context.buffer(&numbers)?;
            assert_eq!(buffer.scan()?.read().wait()?, inclusive, "{size} numbers");
            assert_eq!(buffer.scan_exclusive()?.read().wait()?, exclusive, "{size} numbers");
        }
        let floats: Vec<f32> = (0..10_001).map(|_| random.between(0.0, 1.0)).collect();
        let found = context.buffer(&floats)?.scan()?.read().wait()?;
        let mut exact = 0.0f64;
        for (found, &x) in found.iter().zip(&floats) {
            exact += f64::from(x);
            // The loop on the CPU adds up to ten thousand times, each within half a unit; errors of random sign.
            assert!((f64::from(*found) - exact).abs() <= 2e-5 * exact, "{found} {exact}");
        }
        Ok(())
    });
}

#[test]
fn histograms_count_every_element_once() {
    let mut random = Random(seed());
    on_each(|context| {
        for size in SIZES {
            for bins in [1, 256, 5000] {
                let numbers: Vec<u32> = (0..size).map(|_| random.below(bins + bins / 8 + 1) as u32).collect();
                let mut expected = vec![0u32; bins];
                numbers.iter().filter(|&&x| (x as usize) < bins).for_each(|&x| expected[x as usize] += 1);
                assert_eq!(context.buffer(&numbers)?.histogram(bins)?.read().wait()?, expected, "{size} in {bins}");
            }
        }
        let mut values: Vec<f32> = (0..50_001).map(|_| random.between(-1.2, 1.2)).collect();
        values.extend([f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0, 1.0, -0.0]);
        // The edges themselves are the hard cases.
        values.extend((0..=7).map(|edge| (-1.0 + f64::from(edge) * (2.0 / 7.0)) as f32));
        let cpu = cyanotype::Context::cpu().buffer(&values)?.histogram(7, -1.0, 1.0)?.read().wait()?;
        assert_eq!(cpu.iter().sum::<u32>() as usize, values.iter().filter(|x| x.abs() <= 1.0).count());
        assert_eq!(context.buffer(&values)?.histogram(7, -1.0, 1.0)?.read().wait()?, cpu);
        // Ranges that floats can hardly hold or tell apart.
        for (bins, low, high) in [
            (256, -3.4e38, 3.4e38),
            (100, -2e38, 1.5e38),
            (1000, -1e-40, 1e-40),
            (10, 0.0, 1e-39),
            (100, 100.0, 100.0001),
            (5, f32::MAX / 2.0, f32::MAX),
        ] {
            let mut values: Vec<f32> = (0..5000)
                .map(|_| {
                    (f64::from(low) + random.between(-0.1, 1.1) as f64 * (f64::from(high) - f64::from(low))) as f32
                })
                .collect();
            values.extend([low, high, 0.0, -0.0, f32::NAN]);
            let cpu = cyanotype::Context::cpu().buffer(&values)?.histogram(bins, low, high)?.read().wait()?;
            let found = context.buffer(&values)?.histogram(bins, low, high)?.read().wait()?;
            assert_eq!(found, cpu, "{bins} bins from {low} to {high}");
            assert!(cpu.iter().sum::<u32>() > 3000);
        }
        assert!(matches!(context.buffer(&values)?.histogram(0, 0.0, 1.0), Err(Error::BadInput { .. })));
        assert!(matches!(context.buffer(&values)?.histogram(5, 1.0, f32::NAN), Err(Error::BadInput { .. })));
        Ok(())
    });
}

#[test]
fn compaction_and_partition_keep_the_order() {
    let mut random = Random(seed());
    on_each(|context| {
        for size in SIZES {
            let numbers: Vec<i32> = (0..size).map(|_| random.next() as i32).collect();
            let (chosen, others): (Vec<i32>, Vec<i32>) = numbers.iter().partition(|&&x| x & 3 == 0);
            let buffer = context.buffer(&numbers)?;
            assert_eq!(buffer.compact("(x & 3) == 0")?.read().wait()?, chosen, "{size} numbers");
            let parts = buffer.partition("(x & 3) == 0")?;
            assert_eq!(parts.count.read().wait()?, [chosen.len() as u32]);
            assert_eq!(parts.values.read().wait()?, [chosen, others].concat(), "{size} numbers");
        }
        assert!(matches!(context.buffer(&[1.0f32])?.compact("x + 1.0"), Err(Error::Shader { .. })));
        Ok(())
    });
}
