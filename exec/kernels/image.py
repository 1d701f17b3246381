"""Kernels of ONNX family image."""

from __future__ import annotations

import io

import numpy as np

from exec.arrays import Array
from exec.errors import EngineMissing, ExecutionError
from exec.kernels.registry import kernel


@kernel("ImageDecoder", since=20)
def image_decoder(encoded: Array, /, *, pixel_format: str = "RGB") -> Array:
    """The pixels of an encoded image (JPEG, JPEG 2000, TIFF, PNG, WebP, BMP, …), read by pillow.

    Shapes  encoded (bytes) → (height, width, channels), one channel for Grayscale.
    """
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise EngineMissing(
            "decoding an image needs pillow", hint="install it with `pip install onnx-workbench[image]`"
        ) from error
    if pixel_format not in ("RGB", "BGR", "Grayscale"):
        raise ExecutionError(f"the pixel format '{pixel_format}' is unknown", why="known are RGB, BGR and Grayscale")
    try:
        with Image.open(io.BytesIO(encoded.tobytes())) as image:
            pixels = np.array(image.convert("L" if pixel_format == "Grayscale" else "RGB"))
    except (UnidentifiedImageError, OSError) as error:
        raise ExecutionError("the bytes are no image pillow can read", why=str(error)) from error
    if pixel_format == "Grayscale":
        return pixels[:, :, None]
    return pixels[:, :, ::-1] if pixel_format == "BGR" else pixels
