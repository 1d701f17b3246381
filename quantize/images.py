"""Pictures as calibration data: read, resized and normalised the way the model's training did it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from exec.arrays import Array
from exec.errors import EngineMissing, FeedError, OptionError
from exec.ir import Model

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff", ".gif")
Color = Literal["rgb", "bgr", "gray"]
Layout = Literal["NCHW", "NHWC"]


@dataclass(frozen=True, slots=True)
class Images:
    """A folder of pictures for a model with one picture as its input.

    mean, std  x = (pixel · scale − mean) / std, one number or one a channel
    scale      1/255, or 1 for an input of integers
    layout     where the channels are, None: where the input has 1 or 3
    size       (height, width), needed where the input does not say them
    color      the order of the channels
    """

    folder: str | Path
    mean: Sequence[float] = ()
    std: Sequence[float] = ()
    scale: float | None = None
    layout: Layout | None = None
    size: tuple[int, int] | None = None
    color: Color | None = None

    @property
    def files(self) -> list[Path]:
        """The pictures, by name."""
        folder = Path(self.folder)
        if not folder.is_dir():
            raise FeedError("no such folder of images", str(folder))
        found = sorted(p for p in folder.iterdir() if p.suffix.lower() in SUFFIXES)
        if not found:
            raise FeedError("no image in this folder", str(folder), hint=f"files named {', '.join(SUFFIXES)} are read")
        return found

    def read(self, model: Model) -> Iterator[dict[str, Any]]:
        """One sample a picture."""
        form = form_of(model, self)
        for path in self.files:
            yield {form.name: _pixels(path, form, self)}


@dataclass(frozen=True, slots=True)
class Form:
    """What the model wants: the input's name and type, and where height, width and channels lie."""

    name: str
    dtype: np.dtype[Any]
    layout: Layout
    channels: int
    size: tuple[int, int]


def form_of(model: Model, images: Images) -> Form:
    """Read it off the model's input; what it leaves open has to be given."""
    if len(model.inputs) != 1:
        raise FeedError(
            "images are one input",
            str(images.folder),
            f"the model has {len(model.inputs)}: {', '.join(i.name for i in model.inputs)}",
            "a Python function (module:function) can give all of them",
        )
    info = model.inputs[0]
    shape = info.shape
    if shape is None or len(shape) != 4:
        raise FeedError(f"input '{info.name}' is no picture", why=f"its shape is {list(shape or ())}, four are needed")
    layout = images.layout or _layout(shape, info.name)
    where = (1, 2, 3) if layout == "NCHW" else (3, 1, 2)
    channels, height, width = (shape[k] for k in where)
    count = channels if isinstance(channels, int) and channels > 0 else 1 if images.color == "gray" else 3
    if (
        count not in (1, 3)
        or (images.color == "gray" and count == 3)
        or (images.color in ("rgb", "bgr") and count == 1)
    ):
        raise OptionError(f"images of {images.color or 'rgb'} for an input of {count} channels", f"input {info.name}")
    if images.size is not None:
        size = images.size
    elif isinstance(height, int) and isinstance(width, int):
        size = (height, width)
    else:
        raise OptionError(
            f"the size of input '{info.name}' is open", why=f"its shape is {list(shape)}", hint="--image-size HxW"
        )
    for given, own in zip(size, (height, width), strict=True):
        if isinstance(own, int) and own != given:
            raise OptionError(
                f"images of {size[0]}x{size[1]} do not fit input '{info.name}'", why=f"it takes {height}x{width}"
            )
    return Form(info.name, np.dtype(info.dtype), layout, count, size)


def _layout(shape: Sequence[Any], name: str) -> Layout:
    if shape[1] in (1, 3) and shape[3] not in (1, 3):
        return "NCHW"
    if shape[3] in (1, 3) and shape[1] not in (1, 3):
        return "NHWC"
    raise OptionError(
        f"where the channels of input '{name}' lie is not clear",
        why=f"its shape is {list(shape)}",
        hint="--layout NCHW or --layout NHWC",
    )


def _pixels(path: Path, form: Form, images: Images) -> Array:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise EngineMissing(
            "pillow reads images and is not installed", hint="pip install 'onnx-workbench[image]'"
        ) from error
    try:
        with Image.open(path) as opened:
            picture = opened.convert("L" if form.channels == 1 else "RGB")
            picture = picture.resize((form.size[1], form.size[0]), Image.Resampling.BILINEAR)
            pixels = np.asarray(picture)
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError) as error:
        raise FeedError("an image cannot be read", str(path), str(error), "take it out of the folder") from error
    values = pixels.reshape(*form.size, form.channels)
    if images.color == "bgr":
        values = values[..., ::-1]
    if form.dtype.kind in "iu" and not (images.mean or images.std or images.scale):
        normal: Array = values.astype(form.dtype)
    else:
        scale = 1 / 255 if images.scale is None else images.scale
        mean, std = _each(images.mean, 0.0, form, "mean"), _each(images.std, 1.0, form, "std")
        normal = ((values * scale - mean) / std).astype(form.dtype)
    turned = normal if form.layout == "NHWC" else normal.transpose(2, 0, 1)
    return np.ascontiguousarray(turned)[None]


def _each(given: Sequence[float], otherwise: float, form: Form, what: str) -> Array:
    values = np.asarray(given or (otherwise,), np.float64)
    if values.size not in (1, form.channels):
        raise OptionError(f"{values.size} numbers for --{what}", why=f"the input has {form.channels} channels")
    if what == "std" and not values.all():
        raise OptionError("a --std of 0")
    return values
