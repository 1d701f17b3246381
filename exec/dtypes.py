"""One table of ONNX's tensor element types: enum, name, numpy dtype, bits, and the TensorProto field that holds typed values.

Types numpy lacks are `ml_dtypes` types; those narrower than a byte take a whole byte per element in an array and are packed
in a file. STRING is `object`: an array of str, or of bytes where a string is not UTF-8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from exec.arrays import Array
from exec.errors import InvalidModel


@dataclass(frozen=True, slots=True)
class DType:
    """One ONNX element type.

    code      TensorProto.DataType
    name      as the workbench prints it: "float32", "int4", "string"
    onnx      as the specification names it: "FLOAT", "INT4", "STRING"
    numpy     the dtype of an array that holds it
    bits      per element in a file; 0 where the size varies (STRING)
    field     the TensorProto field of typed (not raw) values
    text      as the ONNX text form names it: "float", "int4", "string"
    """

    code: int
    name: str
    onnx: str
    numpy: np.dtype[Any]
    bits: int
    field: str
    text: str

    @property
    def is_float(self) -> bool:
        return self.name.startswith(("float", "bfloat"))

    @property
    def is_integer(self) -> bool:
        return self.name.startswith(("int", "uint"))


def _row(code: int, onnx: str, numpy: Any, bits: int, field: str, text: str = "", name: str = "") -> DType:
    dtype: np.dtype[Any] = np.dtype(numpy)
    return DType(code, name or dtype.name, onnx, dtype, bits, field, text or onnx.lower())


TABLE: tuple[DType, ...] = (
    _row(1, "FLOAT", np.float32, 32, "float_data"),
    _row(2, "UINT8", np.uint8, 8, "int32_data"),
    _row(3, "INT8", np.int8, 8, "int32_data"),
    _row(4, "UINT16", np.uint16, 16, "int32_data"),
    _row(5, "INT16", np.int16, 16, "int32_data"),
    _row(6, "INT32", np.int32, 32, "int32_data"),
    _row(7, "INT64", np.int64, 64, "int64_data"),
    _row(8, "STRING", np.object_, 0, "string_data", name="string"),
    _row(9, "BOOL", np.bool_, 8, "int32_data"),
    _row(10, "FLOAT16", np.float16, 16, "int32_data"),
    _row(11, "DOUBLE", np.float64, 64, "double_data"),
    _row(12, "UINT32", np.uint32, 32, "uint64_data"),
    _row(13, "UINT64", np.uint64, 64, "uint64_data"),
    _row(14, "COMPLEX64", np.complex64, 64, "float_data"),
    _row(15, "COMPLEX128", np.complex128, 128, "double_data"),
    _row(16, "BFLOAT16", ml_dtypes.bfloat16, 16, "int32_data"),
    _row(17, "FLOAT8E4M3FN", ml_dtypes.float8_e4m3fn, 8, "int32_data"),
    _row(18, "FLOAT8E4M3FNUZ", ml_dtypes.float8_e4m3fnuz, 8, "int32_data"),
    _row(19, "FLOAT8E5M2", ml_dtypes.float8_e5m2, 8, "int32_data"),
    _row(20, "FLOAT8E5M2FNUZ", ml_dtypes.float8_e5m2fnuz, 8, "int32_data"),
    _row(21, "UINT4", ml_dtypes.uint4, 4, "int32_data"),
    _row(22, "INT4", ml_dtypes.int4, 4, "int32_data"),
    _row(23, "FLOAT4E2M1", ml_dtypes.float4_e2m1fn, 4, "int32_data"),
    _row(24, "FLOAT8E8M0", ml_dtypes.float8_e8m0fnu, 8, "int32_data"),
    _row(25, "UINT2", ml_dtypes.uint2, 2, "int32_data"),
    _row(26, "INT2", ml_dtypes.int2, 2, "int32_data"),
    _row(27, "FLOAT6E2M3", ml_dtypes.float6_e2m3fn, 6, "int32_data"),
    _row(28, "FLOAT6E3M2", ml_dtypes.float6_e3m2fn, 6, "int32_data"),
)

BY_CODE: dict[int, DType] = {row.code: row for row in TABLE}
BY_NAME: dict[str, DType] = {key: row for row in TABLE for key in (row.text, row.onnx, row.name)}
BY_NUMPY: dict[np.dtype[Any], DType] = {row.numpy: row for row in TABLE}


def from_code(code: int) -> DType | None:
    """The type of a TensorProto.DataType number; None for UNDEFINED and for numbers the specification does not know."""
    return BY_CODE.get(code)


def from_numpy(dtype: Any) -> DType:
    """The ONNX type that holds a numpy dtype's values; `InvalidModel` if there is none."""
    wanted: np.dtype[Any] = np.dtype(dtype)
    row = BY_NUMPY.get(wanted)
    if row is None and wanted.kind in "US":
        row = BY_CODE[8]
    if row is None:
        row = BY_NUMPY.get(wanted.newbyteorder("="))
    if row is None:
        raise InvalidModel(f"no ONNX tensor type holds numpy's {wanted}", hint="convert it with `astype` first")
    return row


def numpy_dtype(code: int) -> np.dtype[Any] | int | None:
    """The numpy dtype of an ONNX code; the code itself where the specification does not know it; None for UNDEFINED."""
    row = BY_CODE.get(code)
    if row is not None:
        return row.numpy
    return code or None


def onnx_code(dtype: Any) -> int:
    """The ONNX code of a numpy dtype, of a code, or 0 for None."""
    if dtype is None:
        return 0
    if isinstance(dtype, int) and not isinstance(dtype, bool):
        return dtype
    return from_numpy(dtype).code


def dtype_name(dtype: Any) -> str:
    """ "float32" for a numpy dtype or an ONNX code; "?" for None, "type 99" for a code nobody knows."""
    if dtype is None:
        return "?"
    if isinstance(dtype, int) and not isinstance(dtype, bool):
        row = BY_CODE.get(dtype)
        return row.name if row is not None else f"type {dtype}"
    return from_numpy(dtype).name


def stored_bytes(code: int, elements: int) -> int:
    """Bytes of `elements` packed values in a file; 0 for STRING and for unknown codes."""
    row = BY_CODE.get(code)
    return (elements * row.bits + 7) // 8 if row is not None else 0


def typed_entries(row: DType, elements: int) -> int:
    """How many entries of its typed field hold `elements`: 2 and 4 bits are packed in bytes, complex numbers are pairs."""
    if row.bits in (2, 4):
        return (elements * row.bits + 7) // 8
    return 2 * elements if row.onnx.startswith("COMPLEX") else elements


def unpack(packed: Array, bits: int, count: int) -> Array:
    """`count` little-endian `bits`-wide fields of a byte array, one per byte, as unsigned values."""
    if bits == 6:
        quads = np.zeros((-(-count // 4), 3), np.uint8)
        quads.reshape(-1)[: packed.size] = packed[: quads.size]
        a, b, c = quads[:, 0], quads[:, 1], quads[:, 2]
        fields = np.stack((a & 63, (a >> 6) | ((b & 15) << 2), (b >> 4) | ((c & 3) << 4), c >> 2), axis=1)
    else:
        shifts = np.arange(0, 8, bits, dtype=np.uint8)
        fields = (packed[:, None] >> shifts) & np.uint8((1 << bits) - 1)
    return np.ascontiguousarray(fields.reshape(-1)[:count])


def pack(fields: Array, bits: int) -> Array:
    """The inverse of `unpack`: the low `bits` of each byte, packed little-endian; the last byte is filled with zeros."""
    flat = fields.reshape(-1).view(np.uint8) & np.uint8((1 << bits) - 1)
    per_group = 4 if bits == 6 else 8 // bits
    padded = np.zeros(-(-flat.size // per_group) * per_group, np.uint8)
    padded[: flat.size] = flat
    groups = padded.reshape(-1, per_group)
    if bits == 6:
        a, b, c, d = groups.T
        packed = np.stack((a | (b << 6), (b >> 2) | (c << 4), (c >> 4) | (d << 2)), axis=1).reshape(-1)
        return np.ascontiguousarray(packed[: (flat.size * 6 + 7) // 8])
    out = np.zeros(len(groups), np.uint8)
    for position in range(per_group):
        out |= groups[:, position] << np.uint8(position * bits)
    return out


def to_bytes(values: Array) -> bytes | memoryview:
    """An array's elements as ONNX stores them in `raw_data`: little-endian, C order, narrow types packed. Not for strings."""
    row = from_numpy(values.dtype)
    if row.bits in (2, 4, 6):
        return pack(np.ascontiguousarray(values), row.bits).tobytes()
    little = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False)
    return little.reshape(-1).view(np.uint8).data if little.size else b""


def from_bytes(data: bytes | memoryview, row: DType, shape: tuple[int, ...]) -> Array:
    """A read-only array over `raw_data`: a view where the type is as wide as its bytes, unpacked otherwise."""
    count = 1
    for dim in shape:
        count *= dim
    if row.bits in (2, 4, 6):
        fields = unpack(np.frombuffer(data, np.uint8), row.bits, count)
        array = fields.view(row.numpy).reshape(shape)
    else:
        array = np.frombuffer(data, row.numpy.newbyteorder("<"), count).reshape(shape)
        array = array.astype(row.numpy, copy=False)
    array.flags.writeable = False
    return array
