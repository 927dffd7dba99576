#!/usr/bin/env python3
"""Makes the pictures that tests/engine/peers.rs compares with, by OpenCV, scikit-image, SciPy and Pillow.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install -r tests/peers/requirements.txt
    /tmp/peers/bin/python tests/peers/regenerate.py

Peers that work in floats get the photograph as float64 in 0..1 and their results are stored with 16 bits; peers that work
in bytes store bytes. Both are clamped to 0..1. The chain of each case stands in peers.rs under the name of the file.
"""

import json
import pathlib

import cv2
import numpy as np
import scipy.ndimage
import skimage.color
import skimage.exposure
import skimage.filters
import skimage.restoration
from PIL import Image, ImageChops, ImageFilter, ImageOps

HERE = pathlib.Path(__file__).parent
ASSETS = HERE.parent.parent / "assets"

# A face with hair, skin and a sharp collar; cups with strong colours.
PHOTO = Image.open(ASSETS / "astronaut.png").convert("RGB").crop((176, 64, 272, 128))
LAYER = Image.open(ASSETS / "coffee.png").convert("RGB").crop((250, 120, 346, 184))
# The photograph with an alpha that runs from 0 to 255.
RAMP = Image.fromarray(np.tile(np.linspace(0, 255, 96).round().astype(np.uint8), (64, 1)))
VEILED = PHOTO.copy()
VEILED.putalpha(RAMP)

BYTES = np.asarray(PHOTO)
FLOATS = BYTES / 255.0
SINGLES = FLOATS.astype(np.float32)
GREY = np.asarray(PHOTO.convert("L"))  # Rec. 601, as both Pillow and OpenCV have it
GREY_FLOATS = GREY / 255.0

# Colours for 256 values, as one row.
TABLE = cv2.cvtColor(
    cv2.applyColorMap(np.arange(256, dtype=np.uint8).reshape(1, 256), cv2.COLORMAP_VIRIDIS), cv2.COLOR_BGR2RGB
)

CASES = {}


def case(name):
    def register(function):
        CASES[name] = function
        return function

    return register


def per_channel(function):
    """A filter for one channel, on all three."""
    return np.stack([function(FLOATS[..., channel]) for channel in range(3)], axis=-1)


# Colour

case("exposure-skimage")(lambda: skimage.exposure.adjust_gamma(FLOATS, gamma=1, gain=2**0.5))
case("gamma-skimage")(lambda: skimage.exposure.adjust_gamma(FLOATS, gamma=1 / 2.2))
case("lookup-opencv")(lambda: cv2.LUT(BYTES, TABLE))
case("lookup-colormap-opencv")(
    lambda: cv2.cvtColor(cv2.applyColorMap(GREY, cv2.COLORMAP_VIRIDIS), cv2.COLOR_BGR2RGB)
)
case("brightness-opencv")(lambda: cv2.convertScaleAbs(BYTES, alpha=1, beta=40))
case("contrast-opencv")(lambda: cv2.addWeighted(BYTES, 1.3, BYTES, 0, 127.5 * (1 - 1.3)))
case("levels-skimage")(
    lambda: skimage.exposure.rescale_intensity(FLOATS, in_range=(0.2, 0.7), out_range=(0.1, 0.9))
)
case("invert-pillow")(lambda: ImageOps.invert(PHOTO))
case("grayscale-709-skimage")(lambda: skimage.color.rgb2gray(FLOATS))
case("grayscale-601-opencv")(lambda: cv2.cvtColor(BYTES, cv2.COLOR_RGB2GRAY))
case("grayscale-601-pillow")(lambda: PHOTO.convert("L"))
case("threshold-opencv")(lambda: cv2.threshold(GREY, 100, 255, cv2.THRESH_BINARY)[1])
MATRIX = np.array([[0.8, 0.3, -0.1], [0.1, 0.7, 0.2], [-0.2, 0.1, 0.9]])
case("color-matrix-opencv")(lambda: cv2.transform(FLOATS, np.hstack([MATRIX, [[0.05], [0.0], [-0.02]]])))
XYZ = np.array(skimage.color.rgb2xyz(np.eye(3).reshape(3, 1, 3))).reshape(3, 3).T  # 0 and 1 are 0 and 1 in linear light
case("srgb-to-linear-skimage")(lambda: skimage.color.rgb2xyz(FLOATS) @ np.linalg.inv(XYZ).T)
case("linear-to-srgb-skimage")(lambda: skimage.color.xyz2rgb(FLOATS @ XYZ.T))
case("hue-hsv-skimage")(lambda: hue_turned(120 / 360))


def hue_turned(turns):
    hsv = skimage.color.rgb2hsv(FLOATS)
    hsv[..., 0] = (hsv[..., 0] + turns) % 1
    return skimage.color.hsv2rgb(hsv)


CUBE_SIZE = 5


def cube_color(r, g, b):
    return (r**0.8, 0.1 + 0.8 * g * (0.5 + r / 2), 1 - (1 - b) * (1 - g * 0.3))


@case("lut3d-pillow")
def lut3d():
    return PHOTO.filter(ImageFilter.Color3DLUT.generate(CUBE_SIZE, cube_color))


case("premultiply-pillow")(lambda: Image.fromarray(np.asarray(VEILED.convert("RGBa"))))
case("unpremultiply-pillow")(
    lambda: Image.frombytes("RGBa", VEILED.size, VEILED.convert("RGBa").tobytes()).convert("RGBA")
)

# Blending

for mode, function in {
    "multiply": ImageChops.multiply,
    "screen": ImageChops.screen,
    "darken": ImageChops.darker,
    "lighten": ImageChops.lighter,
    "difference": ImageChops.difference,
    "overlay": ImageChops.overlay,
    "hard-light": ImageChops.hard_light,
}.items():
    case(f"blend-{mode}-pillow")(lambda function=function: function(PHOTO, LAYER))
case("blend-normal-pillow")(lambda: Image.blend(PHOTO, LAYER, 0.3))
case("blend-over-pillow")(lambda: Image.alpha_composite(LAYER.convert("RGBA"), VEILED))

# Windows

BORDER = cv2.BORDER_REFLECT_101
case("gaussian-1.5-opencv")(lambda: cv2.GaussianBlur(FLOATS, (11, 11), 1.5, borderType=BORDER))
case("gaussian-4-scipy")(
    lambda: scipy.ndimage.gaussian_filter(FLOATS, sigma=(4, 4, 0), mode="nearest", radius=(12, 12, 0))
)
case("gaussian-10-scipy")(
    lambda: scipy.ndimage.gaussian_filter(FLOATS, sigma=(10, 10, 0), mode="nearest", truncate=5)
)
case("gaussian-25-scipy")(
    lambda: scipy.ndimage.gaussian_filter(FLOATS, sigma=(25, 25, 0), mode="mirror", truncate=5)
)
case("gaussian-2-skimage-wrap")(
    lambda: skimage.filters.gaussian(FLOATS, sigma=2, mode="wrap", truncate=3, channel_axis=-1)
)
case("box-blur-7-opencv")(lambda: cv2.blur(FLOATS, (7, 7), borderType=BORDER))
case("box-blur-5-pillow")(lambda: PHOTO.filter(ImageFilter.BoxBlur(2)))
case("median-3-opencv")(lambda: cv2.medianBlur(BYTES, 3))
case("median-5-opencv")(lambda: cv2.medianBlur(BYTES, 5))
case("median-3-scipy")(lambda: scipy.ndimage.median_filter(BYTES, size=(3, 3, 1), mode="mirror"))
case("sobel-skimage")(lambda: per_channel(lambda plane: skimage.filters.sobel(plane, mode="nearest") * np.sqrt(2)))
case("sobel-x-opencv")(
    lambda: 0.5 + cv2.Sobel(FLOATS, cv2.CV_64F, 1, 0, ksize=3, scale=1 / 8, borderType=cv2.BORDER_REPLICATE)
)
case("sobel-y-opencv")(
    lambda: 0.5 + cv2.Sobel(FLOATS, cv2.CV_64F, 0, 1, ksize=3, scale=1 / 8, borderType=cv2.BORDER_REPLICATE)
)
KERNEL = np.array([[1, 2, 0], [0, 3, -1], [2, 0, 1]]) / 8
case("convolve-opencv")(lambda: cv2.filter2D(FLOATS, -1, KERNEL, borderType=cv2.BORDER_REPLICATE))
case("convolve-flip-scipy")(
    lambda: per_channel(lambda plane: scipy.ndimage.convolve(plane, KERNEL, mode="nearest"))
)
case("convolve-emboss-pillow")(lambda: PHOTO.filter(ImageFilter.Kernel((3, 3), [-1, 0, 0, 0, 1, 0, 0, 0, 0], 1, 128)))
case("unsharp-skimage")(
    # Channel by channel: with channel_axis scikit-image 0.26 leaves memory unwritten and gives other pixels each time.
    # Its blur reflects at the edges with the edge pixel repeated; the comparison leaves the edges out.
    lambda: per_channel(lambda plane: skimage.filters.unsharp_mask(plane, radius=2, amount=1.5))
)
# The disc of radius 16 holds all weights above 1e-6, so it does not matter that the window is a square elsewhere. (The
# window of scikit-image 0.26 is shifted by half a pixel against its weights.)
case("bilateral-opencv")(
    lambda: cv2.bilateralFilter(GREY_FLOATS.astype(np.float32), 33, 0.1, 3, borderType=cv2.BORDER_REFLECT_101)
)

# Geometry



def resized(size, kind):
    """In floats, because Pillow rounds and clamps bytes between the two directions."""
    plane = lambda channel: Image.fromarray(SINGLES[..., channel]).resize(size, kind)
    return np.stack([np.asarray(plane(channel)) for channel in range(3)], axis=-1)


for name, kind in {"bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC, "lanczos3": Image.LANCZOS}.items():
    case(f"resize-down-{name}-pillow")(lambda kind=kind: resized((41, 23), kind))
    case(f"resize-up-{name}-pillow")(lambda kind=kind: resized((110, 70), kind))
case("resize-bytes-lanczos3-pillow")(lambda: PHOTO.resize((110, 70), Image.LANCZOS))
# Sizes at which no centre falls between two pixels: there both peers round down by accident of their arithmetic.
case("resize-nearest-opencv")(lambda: cv2.resize(BYTES, (32, 128), interpolation=cv2.INTER_NEAREST_EXACT))
case("resize-nearest-pillow")(lambda: PHOTO.resize((160, 64), Image.NEAREST))
case("resize-area-opencv")(lambda: cv2.resize(SINGLES, (41, 23), interpolation=cv2.INTER_AREA))
case("resize-bilinear-opencv")(lambda: cv2.resize(SINGLES, (110, 70), interpolation=cv2.INTER_LINEAR))
case("resize-bilinear-plain-opencv")(lambda: cv2.resize(SINGLES, (41, 23), interpolation=cv2.INTER_LINEAR))
case("crop-pillow")(lambda: PHOTO.crop((7, 11, 60, 40)))
case("pad-mirror-opencv")(lambda: cv2.copyMakeBorder(BYTES, 3, 9, 5, 7, cv2.BORDER_REFLECT_101))
case("pad-wrap-opencv")(lambda: cv2.copyMakeBorder(BYTES, 3, 9, 5, 7, cv2.BORDER_WRAP))
case("pad-constant-pillow")(lambda: ImageOps.expand(PHOTO, (5, 3, 7, 9), fill=(255, 136, 0)))
case("flip-horizontal-opencv")(lambda: cv2.flip(BYTES, 1))
case("flip-vertical-opencv")(lambda: cv2.flip(BYTES, 0))
case("rotate90-numpy")(lambda: np.rot90(BYTES, -1))
TURN = cv2.getRotationMatrix2D((47.5, 31.5), 20, 1.2)  # about the middle, in OpenCV's coordinates


@case("affine-bilinear-scipy")
def affine_bilinear():
    # SciPy counts rows first, from the centre of the first pixel, and wants the way from output to source.
    inverse = cv2.invertAffineTransform(TURN)
    rows_first = inverse[::-1, 1::-1]
    offset = inverse[::-1, 2]
    return per_channel(
        lambda plane: scipy.ndimage.affine_transform(plane, rows_first, offset, order=1, mode="nearest")
    )


case("affine-bilinear-opencv")(
    lambda: cv2.warpAffine(FLOATS, TURN, (96, 64), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
)
case("affine-nearest-opencv")(
    lambda: cv2.warpAffine(BYTES, TURN, (96, 64), flags=cv2.INTER_NEAREST, borderMode=cv2.BORDER_CONSTANT)
)
HOMOGRAPHY = np.array([[1.1, 0.1, -4.0], [-0.05, 1.2, 3.0], [0.001, 0.002, 1.0]])
case("perspective-bilinear-opencv")(
    lambda: cv2.warpPerspective(
        FLOATS, HOMOGRAPHY, (96, 64), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
)

@case("perspective-bilinear-scipy")
def perspective_bilinear():
    rows, columns = np.mgrid[0:64, 0:96]
    x, y, w = np.linalg.inv(HOMOGRAPHY) @ [columns.ravel(), rows.ravel(), np.ones(rows.size)]
    places = np.stack([y / w, x / w]).reshape(2, 64, 96)
    return per_channel(lambda plane: scipy.ndimage.map_coordinates(plane, places, order=1, mode="nearest"))


# Measures

case("auto-levels-pillow")(lambda: ImageOps.autocontrast(PHOTO))
case("auto-levels-cutoff-pillow")(lambda: ImageOps.autocontrast(PHOTO, cutoff=2))
case("equalize-opencv")(lambda: cv2.equalizeHist(GREY))
case("equalize-per-channel-opencv")(
    lambda: np.stack([cv2.equalizeHist(np.ascontiguousarray(BYTES[..., channel])) for channel in range(3)], axis=-1)
)
case("equalize-per-channel-pillow")(lambda: ImageOps.equalize(PHOTO))


def numbers():
    histogram = [cv2.calcHist([BYTES], [channel], None, [256], [0, 256]).ravel().astype(int).tolist() for channel in range(3)]
    low, high = zip(*(cv2.minMaxLoc(BYTES[..., channel])[:2] for channel in range(3)))
    return {"histogram": histogram, "mean": list(cv2.mean(BYTES)[:3]), "min": list(low), "max": list(high)}


def store(name, picture):
    """Bytes as they are, floats as 16 bits."""
    if not isinstance(picture, Image.Image):
        if picture.dtype != np.uint8:
            picture = np.floor(np.clip(picture, 0, 1) * 65535 + 0.5).astype(np.uint16)
        if picture.ndim == 3:
            picture = cv2.cvtColor(np.ascontiguousarray(picture), cv2.COLOR_RGB2BGR)
        cv2.imwrite(str(HERE / f"{name}.png"), picture, [cv2.IMWRITE_PNG_COMPRESSION, 9])
    else:
        picture.save(HERE / f"{name}.png", optimize=True)


def main():
    for old in HERE.glob("*.png"):
        old.unlink()
    store("input-photo", PHOTO)
    store("input-layer", LAYER)
    store("input-veiled", VEILED)
    store("input-grey", GREY)
    store("input-table", TABLE)
    # What unpremultiply is given: premultiplied bytes, in a file that cannot say so.
    store("input-premultiplied", Image.fromarray(np.asarray(VEILED.convert("RGBa"))))
    for name, make in CASES.items():
        store(name, make())
    with open(HERE / "lut3d.cube", "w") as file:
        file.write(f"LUT_3D_SIZE {CUBE_SIZE}\n")
        steps = [step / (CUBE_SIZE - 1) for step in range(CUBE_SIZE)]
        for b in steps:
            for g in steps:
                for r in steps:
                    file.write("{:.7f} {:.7f} {:.7f}\n".format(*cube_color(r, g, b)))
    (HERE / "numbers.json").write_text(json.dumps(numbers()) + "\n")
    print(f"{len(CASES)} pictures")
    # What the chains in peers.rs say, in this program's coordinates: a pixel's centre is at (0.5, 0.5).
    a, b, c, d, e, f = TURN.ravel()
    print("affine", [a, b, c + (1 - a - b) / 2, d, e, f + (1 - d - e) / 2])
    move = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1]])
    print("perspective", (move @ HOMOGRAPHY @ np.linalg.inv(move)).ravel().tolist())


if __name__ == "__main__":
    main()
