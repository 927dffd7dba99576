//! Any bytes give a picture within the limits or an error. A picture can be written again.
#![no_main]

use cyanotype::Image;
use cyanotype::image::{DecodeLimits, EncodeOptions, FileFormat};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let limits = DecodeLimits { max_width: 4096, max_height: 4096, max_bytes: 16 << 20 };
    let Ok(image) = Image::decode_with(bytes, &limits) else { return };
    assert!(image.width() <= limits.max_width && image.height() <= limits.max_height);
    assert!(image.description().byte_count() as u64 <= limits.max_bytes);
    assert_eq!(image.tight_bytes().len(), image.description().byte_count());
    // A lossless format that holds the pixels gives them back.
    let png = image.encode(FileFormat::Png, &EncodeOptions::default());
    if FileFormat::Png.stored_as(image.format()) == image.format()
        && let Ok(png) = png
    {
        let again = Image::decode_with(&png, &limits).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again.tight_bytes(), image.tight_bytes());
    }
});
