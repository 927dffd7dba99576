//! Sorting and transposing.

use crate::common::{Random, seed};
use crate::{SIZES, on_each};
use cyanotype::Error;

#[test]
fn sorting_is_stable_and_complete() {
    let mut random = Random(seed());
    on_each(|context| {
        for size in SIZES {
            let mut keys: Vec<u32> = (0..size).map(|_| random.next() as u32).collect();
            let sorted = context.buffer(&keys)?.sort()?.read().wait()?;
            keys.sort();
            assert_eq!(sorted, keys, "{size} keys");
            // Few keys: what is equal must keep its order.
            let keys: Vec<i32> = (0..size).map(|_| random.below(50) as i32 - 25).collect();
            let payload: Vec<f32> = (0..size).map(|index| index as f32).collect();
            let mut order: Vec<u32> = (0..size as u32).collect();
            order.sort_by_key(|&index| keys[index as usize]);
            let buffer = context.buffer(&keys)?;
            assert_eq!(buffer.argsort()?.read().wait()?, order, "{size} keys");
            let (found, moved) = buffer.sort_with(&context.buffer(&payload)?)?;
            assert_eq!(found.read().wait()?, order.iter().map(|&i| keys[i as usize]).collect::<Vec<_>>());
            assert_eq!(moved.read().wait()?, order.iter().map(|&i| payload[i as usize]).collect::<Vec<_>>());
        }
        Ok(())
    });
}

#[test]
fn floats_sort_with_nan_last() {
    let mut random = Random(seed());
    on_each(|context| {
        let mut values: Vec<f32> = (0..3000).map(|_| random.between(-1e3, 1e3)).collect();
        values.extend([f32::NAN, -f32::NAN, 0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, 1e-45, -1e-45]);
        let found = context.buffer(&values)?.sort()?.read().wait()?;
        let mut expected: Vec<f32> = values.iter().copied().filter(|x| !x.is_nan()).collect();
        expected.sort_by(|a, b| a.partial_cmp(b).unwrap());
        let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&found[..expected.len()]), bits(&expected));
        assert!(found[expected.len()..].iter().all(|x| x.is_nan()) && found.len() == values.len());
        Ok(())
    });
}

#[test]
fn transposition_of_any_shape() {
    on_each(|context| {
        for (rows, columns) in [(0, 5), (1, 1), (1, 100), (100, 1), (16, 16), (17, 15), (33, 130), (1000, 1003)] {
            let numbers: Vec<u32> = (0..rows * columns).collect();
            let (rows, columns) = (rows as usize, columns as usize);
            let found = context.buffer(&numbers)?.transpose(rows, columns)?.read().wait()?;
            let expected: Vec<u32> =
                (0..columns).flat_map(|x| (0..rows).map(move |y| (y * columns + x) as u32)).collect();
            assert_eq!(found, expected, "{rows} x {columns}");
        }
        let pairs = context.buffer(&[[1.0f32, 2.0], [3.0, 4.0]])?;
        assert_eq!(pairs.transpose(2, 1)?.read().wait()?, [[1.0, 2.0], [3.0, 4.0]]);
        assert!(matches!(pairs.transpose(3, 1), Err(Error::BadInput { .. })));
        Ok(())
    });
}
