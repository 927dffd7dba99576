#!/usr/bin/env python3
"""Expected results for tests/compute/peers.rs, by NumPy and SciPy: python3 tests/compute/expected/make.py

Inputs come from the same small generator as in the tests, so that only results are kept, in peers.json. Needs numpy and
scipy; the versions used are written into the file.
"""
import json
import pathlib

import numpy as np
import scipy
import scipy.signal as signal

MASK = (1 << 64) - 1


def words(seed, count):
    """SplitMix64, as in tests/engine/common.rs."""
    out = []
    for _ in range(count):
        seed = (seed + 0x9E3779B97F4A7C15) & MASK
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        out.append(z ^ (z >> 31))
    return np.array(out, dtype=np.uint64)


def floats(seed, count):
    """In -1..1, exact in single precision."""
    return ((words(seed, count) >> np.uint64(40)).astype(np.float64) / 2**23 - 1).astype(np.float32)


def pairs(values):
    return [[float(v.real), float(v.imag)] for v in values]


x = floats(1, 200)
kernel = floats(2, 9)
keys = (words(3, 300) & np.uint64(0xFFFFFFFF)).astype(np.uint32)
small = (words(4, 300) % np.uint64(16)).astype(np.uint32)
special = floats(5, 64).copy()
special[[7, 30]] = np.nan
a, b = floats(6, 13 * 17).reshape(13, 17), floats(7, 17 * 11).reshape(17, 11)
picture = floats(8, 12 * 15).reshape(12, 15)
window = floats(9, 3 * 4).reshape(3, 4)
z = floats(10, 45)[:45] + 1j * floats(11, 45)
wide = x.astype(np.float64)

expected = {
    "versions": {"numpy": np.__version__, "scipy": scipy.__version__},
    "sum": float(wide.sum()),
    "integer_sum": int(keys.astype(np.uint64).sum()),
    "mean": float(wide.mean()),
    "variance": float(wide.var()),
    "sample_variance": float(wide.var(ddof=1)),
    "argmin": int(x.argmin()),
    "argmax": int(x.argmax()),
    "nan_argmin": int(special.argmin()),
    "nan_argmax": int(special.argmax()),
    "cumsum": np.cumsum(keys, dtype=np.uint32).tolist(),
    "bincount": np.bincount(small, minlength=16).tolist(),
    "histogram": np.histogram(x, bins=10, range=(-0.9, 0.8))[0].tolist(),
    "sort": np.sort(keys).tolist(),
    "argsort": np.argsort(small, kind="stable").tolist(),
    "nan_argsort": np.argsort(special, kind="stable").tolist(),
    "product": (a.astype(np.float64) @ b.astype(np.float64)).ravel().tolist(),
    "full": np.convolve(wide, kernel.astype(np.float64), "full").tolist(),
    "same": np.convolve(wide, kernel.astype(np.float64), "same").tolist(),
    "valid": np.convolve(wide, kernel.astype(np.float64), "valid").tolist(),
    "lfilter": signal.lfilter(kernel.astype(np.float64), 1, wide).tolist(),
}
for mode in ["full", "same", "valid"]:
    expected[f"convolve2d_{mode}"] = (
        signal.convolve2d(picture.astype(np.float64), window.astype(np.float64), mode).ravel().tolist()
    )
expected["fft"] = pairs(np.fft.fft(z.astype(np.complex128)))
expected["ifft"] = pairs(np.fft.ifft(z.astype(np.complex128)))
expected["fft2"] = pairs(np.fft.fft2(z.astype(np.complex128).reshape(5, 9)).ravel())
expected["rfft"] = pairs(np.fft.rfft(wide))
expected["prime_fft"] = pairs(np.fft.fft(z[:43].astype(np.complex128)))

path = pathlib.Path(__file__).with_name("peers.json")
path.write_text("{\n" + ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in expected.items()) + "\n}\n")
print(path, path.stat().st_size, "bytes")
