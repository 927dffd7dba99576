//! Elementwise kernels, and the buffers they work on.

use crate::common::{Random, seed};
use crate::{SIZES, on_each};
use cyanotype::Error;

#[test]
fn squares_of_all_sizes() {
    let mut random = Random(seed());
    on_each(|context| {
        for size in SIZES {
            let numbers: Vec<f32> = (0..size).map(|_| random.between(-10.0, 10.0)).collect();
            let squares = context.buffer(&numbers)?.map::<f32>("x * x")?.read().wait()?;
            let expected: Vec<f32> = numbers.iter().map(|x| x * x).collect();
            assert_eq!(squares, expected, "{size} numbers");
        }
        Ok(())
    });
}

#[test]
fn an_expression_over_two_buffers_with_constants_and_index() {
    let mut random = Random(seed());
    on_each(|context| {
        for size in SIZES {
            let x: Vec<u32> = (0..size).map(|_| random.next() as u32).collect();
            let y: Vec<i32> = (0..size).map(|_| random.next() as i32).collect();
            let (first, second) = (context.buffer(&x)?, context.buffer(&y)?);
            let found =
                first.zip::<i32, i32>(&second, "i32(x ^ a) / max(y, 1) - i32(i % b)", [77, 13])?.read().wait()?;
            let expected: Vec<i32> =
                (0..size).map(|i| ((x[i] ^ 77) as i32 / y[i].max(1)).wrapping_sub((i % 13) as i32)).collect();
            assert_eq!(found, expected, "{size} numbers");
        }
        Ok(())
    });
}

#[test]
fn axpy_is_within_a_rounding() {
    let mut random = Random(seed());
    on_each(|context| {
        let x: Vec<f32> = (0..5001).map(|_| random.between(-1.0, 1.0)).collect();
        let y: Vec<f32> = (0..5001).map(|_| random.between(-1.0, 1.0)).collect();
        let found = context.buffer(&x)?.axpy(0.37, &context.buffer(&y)?)?.read().wait()?;
        for i in 0..x.len() {
            let exact = 0.37f32 as f64 * x[i] as f64 + y[i] as f64;
            // A product and a sum, each rounded once: half a unit in the last place of at most 1.37, twice.
            assert!((found[i] as f64 - exact).abs() <= 2.0 * f32::EPSILON as f64, "{i}: {} and {exact}", found[i]);
        }
        Ok(())
    });
}

#[test]
fn views_share_memory_and_may_begin_anywhere() {
    on_each(|context| {
        let numbers: Vec<u32> = (0..1000).collect();
        let buffer = context.buffer(&numbers)?;
        for (start, end) in [(0, 1000), (64, 100), (1, 2), (3, 999), (500, 500), (999, 1000)] {
            let view = buffer.view(start..end)?;
            assert_eq!(view.read().wait()?, numbers[start..end]);
            let expected: Vec<u32> = numbers[start..end].iter().map(|x| x + 1).collect();
            assert_eq!(view.map::<u32>("x + 1")?.read().wait()?, expected, "{start}..{end}");
        }
        buffer.view(10..12)?.write(&[7, 8])?;
        buffer.view(20..22)?.clear()?;
        let all = buffer.read().wait()?;
        assert_eq!((&all[9..13], &all[19..23]), (&[9, 7, 8, 12][..], &[19, 0, 0, 22][..]));
        assert!(matches!(buffer.view(0..1001), Err(Error::BadInput { .. })));
        let bytes = context.buffer(&[1u8, 2, 3, 4, 5, 6, 7])?;
        assert_eq!(bytes.view(2..5)?.read().wait()?, [3, 4, 5]);
        assert_eq!(bytes.view(0..4)?.cast::<u32>()?.read().wait()?, [u32::from_ne_bytes([1, 2, 3, 4])]);
        assert!(matches!(bytes.cast::<u32>(), Err(Error::BadInput { .. })));
        // Elements narrower than a word: a device writes whole words, or nothing.
        for range in [0..3, 2..4, 0..4, 4..7, 3..7, 0..7] {
            let bytes = context.buffer(&[1u8, 2, 3, 4, 5, 6, 7])?;
            let mut expected = [1, 2, 3, 4, 5, 6, 7];
            let whole = context.description() == cyanotype::Context::cpu().description()
                || range.start % 4 == 0 && (range.end % 4 == 0 || range.end == 7);
            let view = bytes.view(range.clone())?;
            match view.write(&vec![9; range.len()]) {
                Ok(()) if whole => expected[range.clone()].fill(9),
                Err(Error::BadInput { .. }) if !whole => {}
                other => panic!("{range:?}: {other:?}"),
            }
            assert_eq!(bytes.read().wait()?, expected, "{range:?}");
            assert_eq!(view.clear().is_ok(), whole, "{range:?}");
        }
        Ok(())
    });
}

#[test]
fn mistakes_in_expressions_are_told_with_their_place() {
    on_each(|context| {
        let buffer = context.buffer(&[1.0f32])?;
        for (text, part) in [
            ("x +", "expression"),
            ("x * z", "z"),
            ("x) + (x", "x"),
            ("1.0); } fn other() -> f32 { loop { } return (1.0", "one expression"),
            ("x & 1u", "&"),
        ] {
            match buffer.map::<f32>(text).map(|_| ()) {
                Err(Error::Shader { line: 1, column, message, .. }) => {
                    assert!(column >= 1, "{text}: {column} {message} ({part})");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
        for (text, place) in [("x /* c", (1, 1)), ("x > \n y y", (2, 4))] {
            match buffer.map::<f32>(text).map(|_| ()) {
                Err(Error::Shader { line, column, .. }) => assert_eq!((line, column), place, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
        assert_eq!(buffer.map::<f32>("x + 1.0 // see /* here")?.read().wait()?, [2.0]);
        let too_large = buffer.map::<i32>("2147483648").map(|_| ());
        assert!(matches!(too_large, Err(Error::Shader { line: 1, column: 1, .. })), "{too_large:?}");
        match buffer.compact("x >").map(|_| ()) {
            Err(Error::Shader { line, column, .. }) => assert_eq!((line, column), (1, 4)),
            other => panic!("{other:?}"),
        }
        let longer = context.buffer(&[1.0f32, 2.0])?;
        assert!(matches!(buffer.axpy(1.0, &longer), Err(Error::BadInput { .. })));
        Ok(())
    });
}
