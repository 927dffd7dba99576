//! What a file says and the codecs keep to themselves, read from the bytes without decoding: whether a JPEG is all
//! there, whether an OpenEXR header can be trusted with memory, what a TIFF says of its alpha and colours. Everything
//! here reads hostile bytes, so every access is checked, and a file that makes no sense is left to the codec to refuse.

use super::decode::DecodeLimits;
use crate::error::{Error, Result};

/// Reads onwards through bytes; every step may find that there are too few.
struct Reader<'a> {
    bytes: &'a [u8],
    little_endian: bool,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u16(&mut self) -> Option<u16> {
        let bytes = self.array()?;
        Some(if self.little_endian { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    }

    fn u32(&mut self) -> Option<u32> {
        let bytes = self.array()?;
        Some(if self.little_endian { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    fn u64(&mut self) -> Option<u64> {
        let bytes = self.array()?;
        Some(if self.little_endian { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) })
    }

    fn i32(&mut self) -> Option<i32> {
        self.u32().map(u32::cast_signed)
    }

    /// Text up to a zero byte.
    fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.bytes.iter().position(|&byte| byte == 0)?;
        let text = self.take(length)?;
        self.take(1)?;
        Some(text)
    }
}

/// Whether a JPEG has its end-of-image marker. The decoder fills what is missing with grey and reports success; half a
/// photograph should be an error.
pub(super) fn jpeg_is_complete(bytes: &[u8]) -> bool {
    // The usual end, perhaps padded. Otherwise something follows the picture (another one, a film), and the marker has
    // to be found by walking.
    let end = bytes.iter().rposition(|&byte| byte != 0 && !byte.is_ascii_whitespace()).map_or(0, |last| last + 1);
    bytes.get(..end).is_some_and(|bytes| bytes.ends_with(&[0xff, 0xd9])) || jpeg_end(bytes).is_some()
}

/// Walks over the segments of a JPEG to its end-of-image marker.
fn jpeg_end(bytes: &[u8]) -> Option<()> {
    const START_OF_SCAN: u8 = 0xda;
    const END_OF_IMAGE: u8 = 0xd9;
    let mut reader = Reader { bytes, little_endian: false };
    loop {
        // To the next marker: inside a scan over entropy-coded bytes, where 0xff is followed by 0 or a restart marker;
        // between segments over fill bytes.
        let skip = reader.bytes.iter().position(|&byte| byte == 0xff)?;
        reader.take(skip + 1)?;
        match *reader.bytes.first()? {
            0xff => continue,
            // Stuffing, restart markers, start of image and a temporary marker have no segment behind them.
            0x00 | 0x01 | 0xd0..=0xd8 => {
                reader.take(1)?;
            }
            END_OF_IMAGE => return Some(()),
            marker => {
                reader.take(1)?;
                let length = usize::from(reader.u16()?);
                // A scan header is short and its data follows, so there is no need to treat it apart but for damage:
                // a bogus length must not jump over the rest of the file.
                if marker == START_OF_SCAN && length > 2 + 1 + 2 * 4 + 3 {
                    continue;
                }
                reader.take(length.checked_sub(2)?)?;
            }
        }
    }
}

/// Refuses OpenEXR headers whose blocks would not fit in the limits. The decoder sizes its buffers by the data window,
/// the tiles and the channels before it reads a pixel, and these need not agree with the size of the picture.
pub(super) fn check_exr(bytes: &[u8], limits: &DecodeLimits) -> Result<()> {
    let mut found = Ok(());
    // `None` is a header that ends too early: the decoder says so better.
    let _ = walk_exr(bytes, |layer| {
        if found.is_ok() {
            found = layer.check(limits);
        }
    });
    found
}

/// What decides about memory in one layer of an OpenEXR file.
#[derive(Default)]
struct ExrLayer {
    width: u64,
    height: u64,
    tile: Option<(u64, u64)>,
    channels: u64,
}

impl ExrLayer {
    fn check(&self, limits: &DecodeLimits) -> Result<()> {
        // The most rows that any compression puts in one block (DWAB).
        const BLOCK_ROWS: u64 = 256;
        // No sample type is larger.
        const SAMPLE_BYTES: u64 = 4;
        check_limit("width of the data window", self.width, limits.max_width.into())?;
        check_limit("height of the data window", self.height, limits.max_height.into())?;
        let (block_width, block_height) = self.tile.unwrap_or((self.width, self.height.min(BLOCK_ROWS)));
        let bytes =
            [block_height, self.channels, SAMPLE_BYTES].iter().fold(block_width, |all, &next| all.saturating_mul(next));
        check_limit("bytes in a block of the file", bytes, limits.max_bytes)
    }
}

/// [`Error::Limit`] where `found` is over `limit`.
pub(super) fn check_limit(what: &str, found: u64, limit: u64) -> Result<()> {
    if found > limit { Err(Error::Limit { what: what.to_string(), found, limit }) } else { Ok(()) }
}

fn walk_exr(bytes: &[u8], mut visit: impl FnMut(ExrLayer)) -> Option<()> {
    const MULTIPLE_PARTS: u32 = 1 << 12;
    let mut reader = Reader { bytes, little_endian: true };
    reader.take(4)?;
    let several = reader.u32()? & MULTIPLE_PARTS != 0;
    loop {
        let mut layer = ExrLayer::default();
        let mut empty = true;
        loop {
            let name = reader.text()?;
            if name.is_empty() {
                break;
            }
            empty = false;
            let kind = reader.text()?;
            let length = usize::try_from(reader.i32()?).ok()?;
            let mut value = Reader { bytes: reader.take(length)?, little_endian: true };
            match (name, kind) {
                (b"dataWindow", b"box2i") => {
                    let [left, top, right, bottom] = [value.i32()?, value.i32()?, value.i32()?, value.i32()?];
                    // A window that is turned inside out counts as huge; the decoder would refuse it too.
                    let extent = |from: i32, to: i32| u64::try_from(i64::from(to) - i64::from(from) + 1);
                    layer.width = extent(left, right).unwrap_or(u64::MAX);
                    layer.height = extent(top, bottom).unwrap_or(u64::MAX);
                }
                (b"tiles", b"tiledesc") => layer.tile = Some((value.u32()?.into(), value.u32()?.into())),
                (b"channels", b"chlist") => {
                    while !value.text()?.is_empty() {
                        value.take(16)?;
                        layer.channels += 1;
                    }
                }
                _ => {}
            }
        }
        if !empty {
            visit(layer);
        }
        if empty || !several {
            return Some(());
        }
    }
}

/// Whether a TIFF's first picture says that its alpha is associated, that is premultiplied.
pub(super) fn tiff_is_premultiplied(bytes: &[u8]) -> bool {
    const EXTRA_SAMPLES: u16 = 338;
    const SHORT: u16 = 3;
    const ASSOCIATED_ALPHA: u16 = 1;
    tiff_entry(bytes, EXTRA_SAMPLES).is_some_and(|mut entry| {
        // One or two values lie in the entry itself; nobody writes more than one alpha.
        entry.kind == SHORT && entry.count <= 2 && entry.value.u16() == Some(ASSOCIATED_ALPHA)
    })
}

/// The ICC profile of a TIFF's first picture. The decoder has it as well, but measures it by the limit for pixels, so
/// that small pictures lose theirs.
pub(super) fn tiff_profile(bytes: &[u8]) -> Option<&[u8]> {
    const ICC_PROFILE: u16 = 34675;
    const BYTE: u16 = 1;
    const UNDEFINED: u16 = 7;
    let mut entry = tiff_entry(bytes, ICC_PROFILE).filter(|entry| [BYTE, UNDEFINED].contains(&entry.kind))?;
    let length = usize::try_from(entry.count).ok()?;
    if length <= entry.value.bytes.len() {
        return entry.value.take(length);
    }
    let start = usize::try_from(if entry.big { entry.value.u64()? } else { entry.value.u32()?.into() }).ok()?;
    bytes.get(start..start.checked_add(length)?)
}

/// One entry of a TIFF directory. `value` holds the values if they fit in there (4 bytes, 8 in a BigTIFF), else their
/// offset.
struct TiffEntry<'a> {
    big: bool,
    kind: u16,
    count: u64,
    value: Reader<'a>,
}

/// The entry of this tag in the first directory.
fn tiff_entry(bytes: &[u8], wanted: u16) -> Option<TiffEntry<'_>> {
    let mut header = Reader { bytes, little_endian: bytes.starts_with(b"II") };
    header.take(2)?;
    let big = match header.u16()? {
        42 => false,
        // BigTIFF: offsets, counts and values have eight bytes.
        43 => true,
        _ => return None,
    };
    let offset = if big {
        header.take(4)?;
        header.u64()?
    } else {
        header.u32()?.into()
    };
    let mut directory = Reader { bytes: bytes.get(usize::try_from(offset).ok()?..)?, ..header };
    let entries = if big { directory.u64()? } else { directory.u16()?.into() };
    for _ in 0..entries {
        let (tag, kind) = (directory.u16()?, directory.u16()?);
        let count = if big { directory.u64()? } else { directory.u32()?.into() };
        let value = Reader { bytes: directory.take(if big { 8 } else { 4 })?, ..directory };
        if tag == wanted {
            return Some(TiffEntry { big, kind, count, value });
        }
    }
    None
}
