"""From categories to numbers and back: LabelEncoder, CategoryMapper, OneHotEncoder, and ops on maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.ml.features import DOMAIN
from exec.kernels.registry import kernel


@kernel("LabelEncoder", domain=DOMAIN)
def label_encoder_1(
    x: Array, /, *, classes_strings: Sequence[str] = (), default_int64: int = -1, default_string: str = "_Unused"
) -> Array:
    """A class to its place in the list, or a place to its class, by the type of x."""
    places = range(len(classes_strings))
    if x.dtype.kind in "iu":
        return _looked_up(x, places, np.array(classes_strings, object), default_string)
    return _looked_up(x, classes_strings, np.array(places, np.int64), default_int64)


@kernel("LabelEncoder", domain=DOMAIN, since=2)
def label_encoder(
    x: Array,
    /,
    *,
    default_float: float = -0.0,
    default_int64: int = -1,
    default_string: str = "_Unused",
    default_tensor: Array | None = None,
    keys_floats: Sequence[float] | None = None,
    keys_int64s: Sequence[int] | None = None,
    keys_strings: Sequence[str] | None = None,
    keys_tensor: Array | None = None,
    values_floats: Sequence[float] | None = None,
    values_int64s: Sequence[int] | None = None,
    values_strings: Sequence[str] | None = None,
    values_tensor: Array | None = None,
) -> Array:
    """Each element's value in a table; the default if it is no key. The last of repeated keys counts, NaN is a key."""
    keys: Sequence[Any] = ()
    for given in (keys_floats, keys_int64s, keys_strings, None if keys_tensor is None else keys_tensor.tolist()):
        keys = given or keys
    if values_tensor is not None:
        values, default = values_tensor, _default(values_tensor, default_tensor)
    elif values_floats is not None:
        values, default = np.array(values_floats, np.float32), default_float
    elif values_int64s is not None:
        values, default = np.array(values_int64s, np.int64), default_int64
    else:
        values, default = np.array(values_strings or (), object), default_string
    return _looked_up(x, keys, values, default)


def _default(values: Array, given: Array | None) -> Any:
    if given is not None:
        return given.reshape(-1)[0]
    return "_Unused" if values.dtype.kind == "O" else -1 if values.dtype.kind in "iu" else -0.0


@kernel("CategoryMapper", domain=DOMAIN)
def category_mapper(
    x: Array,
    /,
    *,
    cats_int64s: Sequence[int] = (),
    cats_strings: Sequence[str] = (),
    default_int64: int = -1,
    default_string: str = "_Unused",
) -> Array:
    """Strings to their integers, or integers to their strings, by the type of x."""
    if x.dtype.kind in "iu":
        return _looked_up(x, cats_int64s, np.array(cats_strings, object), default_string)
    return _looked_up(x, cats_strings, np.array(cats_int64s, np.int64), default_int64)


def _looked_up(x: Array, keys: Sequence[Any], values: Array, default: Any) -> Array:
    """values[k] for each element that equals keys[k]."""
    table = np.concatenate((values, np.array([default], values.dtype)))
    return table[_places(x, keys)]


def _places(x: Array, keys: Sequence[Any]) -> Array:
    """For each element the index of its key, of the last one if it is repeated; len(keys) if there is none."""
    missing = len(keys)
    if x.dtype.kind not in "iufb" or not missing:
        places = {key: k for k, key in enumerate(keys)}
        return np.array([places.get(item, missing) for item in x.reshape(-1).tolist()], np.int64).reshape(x.shape)
    # stable: the last of equal keys is the last of its run, which side="right" finds; NaNs sort last and find each other
    known = np.array(keys, x.dtype)
    order = np.argsort(known, kind="stable")
    found = order[np.maximum(np.searchsorted(known[order], x, side="right") - 1, 0)]
    hit = np.asarray(known[found] == x)
    if x.dtype.kind == "f":
        hit |= np.isnan(known[found]) & np.isnan(x)
    return np.where(hit, found, missing)


@kernel("OneHotEncoder", domain=DOMAIN)
def one_hot_encoder(
    x: Array,
    /,
    *,
    cats_int64s: Sequence[int] | None = None,
    cats_strings: Sequence[str] | None = None,
    zeros: int = 1,
) -> Array:
    """One float32 column per category along a new last axis; an unknown one gives zeros, or fails with zeros=0."""
    categories: Sequence[Any] = cats_strings or cats_int64s or ()
    places = _places(x if x.dtype.kind not in "fb" else x.astype(np.int64), categories)
    if not zeros and (places == len(categories)).any():
        unknown = x.reshape(-1)[np.argmax(places.reshape(-1) == len(categories))]
        raise ExecutionError(f"{unknown!r} is no category, and zeros=0 allows no other", why=f"known: {categories}")
    return np.asarray(places[..., None] == np.arange(len(categories))).astype(np.float32)


@kernel("ZipMap", domain=DOMAIN)
def zip_map(
    x: Array,
    /,
    *,
    classlabels_int64s: Sequence[int] | None = None,
    classlabels_strings: Sequence[str] | None = None,
) -> list[dict[Any, float]]:
    """One map from label to value per row; a vector is one row."""
    labels: Sequence[Any] = classlabels_strings or classlabels_int64s or ()
    rows = x.reshape(1, -1) if x.ndim == 1 else x
    if rows.shape[1] != len(labels):
        raise ExecutionError(f"ZipMap has {len(labels)} labels for {rows.shape[1]} columns")
    return [dict(zip(labels, row, strict=True)) for row in rows.tolist()]


@kernel("DictVectorizer", domain=DOMAIN)
def dict_vectorizer(
    x: Mapping[Any, Any],
    /,
    *,
    int64_vocabulary: Sequence[int] | None = None,
    string_vocabulary: Sequence[str] | None = None,
) -> Array:
    """The map's values in the order of the vocabulary, as one row; 0 (or "") where the map has no value."""
    vocabulary: Sequence[Any] = string_vocabulary or int64_vocabulary or ()
    sample = next(iter(x.values()), 0.0)
    if isinstance(sample, str):
        return np.array([[x.get(word, "") for word in vocabulary]], object)
    dtype: Any = np.float32 if type(sample) is float else np.asarray(sample).dtype
    return np.array([[x.get(word, 0) for word in vocabulary]], dtype)


@kernel("CastMap", domain=DOMAIN)
def cast_map(x: Mapping[int, Any], /, *, cast_to: str = "TO_FLOAT", map_form: str = "DENSE", max_map: int = 1) -> Array:
    """The map's values in the order of its keys, as one row; SPARSE: at the places the keys name, of `max_map`."""
    types: dict[str, Any] = {"TO_FLOAT": np.float32, "TO_INT64": np.int64, "TO_STRING": object}
    if cast_to not in types or map_form not in ("DENSE", "SPARSE"):
        raise ExecutionError(
            f"CastMap knows no {cast_to} or no {map_form}", why=f"known: {', '.join(types)}; DENSE, SPARSE"
        )
    read: Any = {"TO_FLOAT": float, "TO_INT64": int, "TO_STRING": str}[cast_to]
    keys = sorted(x)
    if map_form == "DENSE":
        return np.array([[read(x[key]) for key in keys]], types[cast_to])
    y = np.full((1, max_map), "0" if cast_to == "TO_STRING" else 0, types[cast_to])
    for key in keys:
        if not 0 <= key < max_map:
            raise ExecutionError(f"the key {key} does not fit a row of {max_map}")
        y[0, key] = read(x[key])
    return y
