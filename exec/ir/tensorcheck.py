"""Whether a TensorProto says one thing: a known type, a shape, and exactly the data they need. Nothing is decoded or allocated."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from exec import dtypes
from exec.errors import ExternalDataError
from exec.ir.names import text
from exec.ir.notes import Findings

if TYPE_CHECKING:
    from exec.ir.store import Store

_RAW_AND_TYPED = ("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data")
_EXTERNAL = 1
MOST_DIMS = 64
_STRING = 8
_INT64 = 7
_UINT32 = 12

# Types kept in int32_data, and the values that fit them. The others are bytes, which writers store signed or unsigned.
_RANGES = {
    2: (0, 255),
    3: (-128, 127),
    4: (0, 65535),
    5: (-32768, 32767),
    9: (0, 1),
    10: (0, 65535),
    16: (0, 65535),
    27: (0, 63),
    28: (0, 63),
}
_BYTE_RANGE = (-128, 255)


def check_tensor(proto: Any, store: Store, findings: Findings, place: str) -> None:
    """Add what is wrong with a tensor; `place` is "initializer", "attribute 'value' of node 'c'"."""
    code, dims = proto.data_type, proto.dims
    row = dtypes.BY_CODE.get(code)
    if row is None:
        findings.error(
            "unknown-type", _where(proto, place), f"its element type is {code}; the specification has 1 to 28"
        )
        return
    if len(dims) > MOST_DIMS:
        findings.error("many-dims", _where(proto, place), f"it has {len(dims)} dims; an array has at most {MOST_DIMS}")
        return
    count = 1
    for dim in dims:
        if dim < 0:
            findings.error("negative-dim", _where(proto, place), f"its shape is {list(dims)}")
            return
        count *= dim
    if proto.HasField("segment"):
        findings.error("segment", _where(proto, place), "it is a segment of a tensor, which nothing puts together")
    if proto.data_location == _EXTERNAL:
        _check_external(proto, store, findings, place)
    elif proto.HasField("raw_data"):
        raw = proto.raw_data
        length = store.raw_length(raw) if len(raw) == 32 else len(raw)
        needed = (count * row.bits + 7) // 8
        if code == _STRING:
            findings.error("raw-string", _where(proto, place), "strings cannot be raw data")
        elif length != needed:
            findings.error(
                "data-length",
                _where(proto, place),
                f"it has {length:,} bytes of data where {row.name}{list(dims)} needs {needed:,}",
            )
        elif any(len(getattr(proto, name)) for name in _RAW_AND_TYPED):
            findings.error("two-data-fields", _where(proto, place), "it has raw data and typed data")
    else:
        _check_typed(proto, row, count, findings, place)


def check_sparse(proto: Any, store: Store, findings: Findings, place: str = "") -> None:
    """Add what is wrong with a SparseTensorProto: indices [NNZ] into the flat tensor or [NNZ, rank], ascending, each once.

    place  the attribute that holds it; nothing for an initializer, which its name tells
    """
    check_tensor(proto.values, store, findings, place or "initializer")
    check_tensor(proto.indices, store, findings, f"indices of {place or 'sparse initializer'}")
    where = place or f"sparse initializer {text(proto.values.name)!r}"
    dims, shape = list(proto.dims), list(proto.indices.dims)
    if any(dim < 0 for dim in dims):
        findings.error("negative-dim", where, f"its shape is {dims}")
        return
    count = proto.values.dims[0] if len(proto.values.dims) == 1 else -1
    if count < 0 or shape not in ([count], [count, len(dims)]) or proto.indices.data_type != _INT64:
        findings.error(
            "sparse-shape", where, f"its {list(proto.values.dims)} values have indices {shape}; {len(dims)} dims need int64 [N] or [N, {len(dims)}]"
        )  # fmt: skip
        return
    indices = _inline(proto.indices, store)
    if indices is None or indices.size != math.prod(shape):
        return
    if len(shape) == 2:
        inside = bool(((indices.reshape(shape) >= 0) & (indices.reshape(shape) < np.array(dims, np.int64))).all())
        flat = _flat(indices.reshape(shape), dims)
    else:
        inside = bool(((indices >= 0) & (indices < min(math.prod(dims), 2**63 - 1))).all())
        flat = indices
    if not inside:
        findings.error("sparse-index", where, f"one of its indices lies outside {dims}")
    elif flat.size > 1 and not bool((flat[1:] > flat[:-1]).all()):
        findings.error("sparse-order", where, "its indices do not ascend")


def _inline(proto: Any, store: Store) -> Any:
    """The int64 values of a tensor that is in the file; None for one that is elsewhere or kept apart as large."""
    if proto.data_location == _EXTERNAL:
        return None
    if not proto.HasField("raw_data"):
        return np.asarray(proto.int64_data, np.int64)
    if len(proto.raw_data) == 32 and store.raw_length(proto.raw_data) != 32:
        return None
    return np.frombuffer(proto.raw_data, "<i8") if len(proto.raw_data) % 8 == 0 else None


def _flat(indices: Any, dims: list[int]) -> Any:
    """Positions in the flat tensor, as Python integers where int64 could overflow."""
    flat = np.zeros(len(indices), object if math.prod(dims) > 2**62 else np.int64)
    for axis, dim in enumerate(dims):
        flat = flat * dim + indices[:, axis]
    return flat


def _check_typed(proto: Any, row: dtypes.DType, count: int, findings: Findings, place: str) -> None:
    stored = len(getattr(proto, row.field))
    needed = dtypes.typed_entries(row, count)
    if stored != needed:
        findings.error(
            "data-length",
            _where(proto, place),
            f"it has {stored:,} values in {row.field} where {row.name}{list(proto.dims)} needs {needed:,}",
        )
        return
    if any(len(getattr(proto, name)) for name in _RAW_AND_TYPED if name != row.field):
        findings.error("two-data-fields", _where(proto, place), "it has typed data of two types")
        return
    if row.code == _UINT32 and stored and max(proto.uint64_data) > 0xFFFFFFFF:
        findings.error("value-range", _where(proto, place), f"it has values that are no {row.name}")
        return
    low, high = _RANGES.get(row.code, _BYTE_RANGE if row.field == "int32_data" and row.bits <= 8 else (0, 0))
    if stored and high:
        values = np.asarray(proto.int32_data)
        if values.min() < low or values.max() > high:
            findings.error("value-range", _where(proto, place), f"it has values that are no {row.name}")


def _check_external(proto: Any, store: Store, findings: Findings, place: str) -> None:
    try:
        found = store.files.check(proto)
    except ExternalDataError as error:
        found_there = f"{error.what}: {error.why}" if error.why else error.what
        findings.error("external-data", error.where or _where(proto, place), found_there, error.hint)
        return
    for note in found:
        findings.add(note)


def _where(proto: Any, place: str) -> str:
    return f"{place} {text(proto.name)!r}" if proto.name else place
