"""A tensor's values where they lie: in the file, in a data file beside it, or in the proto; an array only once asked for."""

from __future__ import annotations

import contextlib
import math
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx_graphsurgeon.ir.tensor import LazyValues, SparseValues

from exec import dtypes
from exec.arrays import Array
from exec.budget import bytes_text, element_count, exceeded
from exec.errors import InvalidModel
from exec.footprint import allowance
from exec.ir.names import copy_of, text
from exec.ir.tensorcheck import MOST_DIMS

if TYPE_CHECKING:
    import onnx

    from exec.ir.sources import Place
    from exec.ir.store import Store

KEEP_DECODED_BYTES = 64 << 10
EXTERNAL = 1  # TensorProto.DataLocation


class Weight(LazyValues):
    """The values of one TensorProto: shape and type at once, bytes on demand, always read-only.

    Views on the file are kept; decoded copies (typed fields, 2/4/6-bit, strings) only while somebody else holds them,
    unless they are small.
    """

    __slots__ = ("_array", "_blob", "_decoded", "_store", "proto")

    def __init__(self, proto: onnx.TensorProto, store: Store) -> None:
        self.proto = proto
        self._store = store
        self._array: Array | None = None
        self._decoded: weakref.ref[Array] | None = None
        # A token of an array is valid while somebody holds the array.
        self._blob = store.blob_of(proto.raw_data) if store.has_blobs else None

    @property
    def name(self) -> str:
        return text(self.proto.name)

    @property
    def code(self) -> int:
        """TensorProto.DataType"""
        return int(self.proto.data_type)

    @property
    def dtype(self) -> Any:
        """A numpy dtype; the bare code where the specification does not know it."""
        return dtypes.numpy_dtype(self.proto.data_type)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.proto.dims)

    @property
    def size(self) -> int:
        return element_count(self.proto.dims)

    @property
    def nbytes(self) -> int:
        """Bytes as stored in a file."""
        if self.code == 8:
            return sum(map(len, self.proto.string_data))
        return dtypes.stored_bytes(self.code, self.size)

    @property
    def is_external(self) -> bool:
        return bool(self.proto.data_location == EXTERNAL)

    def raw(self) -> memoryview | None:
        """The packed bytes, not copied, if they are stored raw; None for typed fields. Raises `ExternalDataError`."""
        proto = self.proto
        if proto.data_location == EXTERNAL:
            return self._store.files.view(proto, self.nbytes)
        if proto.HasField("raw_data"):
            return self._store.raw(proto.raw_data)
        return None

    def place(self) -> Place | None:
        """Where the packed bytes lie in a file; None for values in memory or in typed fields. Raises `ExternalDataError`."""
        proto = self.proto
        if proto.data_location == EXTERNAL:
            return self._store.files.place(proto, self.nbytes)
        return self._store.place(proto.raw_data, self.nbytes)

    @property
    def is_loaded(self) -> bool:
        """The array is in memory or mapped already."""
        return self._array is not None

    def load(self) -> Array:
        """The values, read-only: a view where the file's layout allows it."""
        if self._array is not None:
            return self._array
        decoded = self._decoded() if self._decoded is not None else None
        if decoded is not None:
            return decoded
        row = self.checked()
        data = self.raw()
        if data is None:
            array = self._typed(row)
        else:
            if row.field == "string_data":
                raise InvalidModel(f"tensor {self.name!r} has strings as raw data", f"tensor {self.name!r}")
            needed = dtypes.stored_bytes(row.code, self.size)
            if len(data) != needed:
                raise InvalidModel(
                    f"tensor {self.name!r} has {len(data)} bytes of data where its shape needs {needed}",
                    f"tensor {self.name!r}",
                    f"{row.name}{list(self.shape)}",
                )
            array = dtypes.from_bytes(data, row, self.shape)
        array.flags.writeable = False
        is_view = data is not None and row.bits >= 8
        if is_view or array.nbytes <= KEEP_DECODED_BYTES:
            self._array = array
        else:
            self._decoded = weakref.ref(array)
        return array

    def checked(self) -> dtypes.DType:
        """The element type; raises `InvalidModel` for a type or shape that no array can have."""
        row = dtypes.from_code(self.code)
        if row is None:
            raise InvalidModel(
                f"tensor {self.name!r} has element type {self.code}",
                f"tensor {self.name!r}",
                "the specification has 1 to 28",
            )
        dims = self.proto.dims
        if any(dim < 0 for dim in dims):
            raise InvalidModel(
                f"tensor {self.name!r} has a negative dimension", f"tensor {self.name!r}", f"shape {list(self.shape)}"
            )
        # numpy counts bytes, also of an array without elements; a string is an object of eight
        if len(dims) > MOST_DIMS or math.prod(dim for dim in dims if dim) * (row.bits or 64) >= 1 << 63:
            raise InvalidModel(
                f"tensor {self.name!r} has a shape no array can have", f"tensor {self.name!r}", f"{len(dims)} dims"
            )
        return row

    def _typed(self, row: dtypes.DType) -> Array:
        from onnx import numpy_helper

        proto = self.proto
        count = self.size
        stored = len(getattr(proto, row.field))
        needed = dtypes.typed_entries(row, count)
        if stored != needed:
            raise InvalidModel(
                f"tensor {self.name!r} has {stored} values where its shape needs {needed}",
                f"tensor {self.name!r}",
                f"{row.name}{list(self.shape)}, {row.field}",
            )
        if row.code == 8:
            return _strings(proto.string_data, self.shape)
        try:
            return np.asarray(numpy_helper.to_array(proto)).reshape(self.shape)
        except (ValueError, TypeError, OverflowError) as error:
            where = f"tensor {self.name!r}"
            raise InvalidModel(f"{where} cannot be decoded: {error}", where, f"{row.name}{list(self.shape)}") from error

    @property
    def tensor(self) -> onnx.TensorProto:
        """A fresh TensorProto with all its bytes inside."""
        return self._store.filled(copy_of(self.proto))

    def __str__(self) -> str:
        return f"Weight({dtypes.dtype_name(self.dtype)}{list(self.shape)})"

    __repr__ = __str__


class SparseWeight(Weight, SparseValues):
    """The values of a SparseTensorProto; dense only when somebody asks, and only below a limit."""

    __slots__ = ("indices", "sparse", "values")

    def __init__(self, proto: onnx.SparseTensorProto, store: Store) -> None:
        super().__init__(proto.values, store)
        self.sparse = proto
        self.values = Weight(proto.values, store)
        self.indices = Weight(proto.indices, store)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.sparse.dims)

    @property
    def size(self) -> int:
        """Elements of the dense tensor."""
        return element_count(self.sparse.dims)

    @property
    def nbytes(self) -> int:
        return self.values.nbytes + self.indices.nbytes

    def place(self) -> None:
        """None: the dense values lie nowhere."""

    def load(self) -> Array:
        row = self.values.checked()
        where = f"sparse tensor {self.name!r}"
        shape, count = self.shape, self.size
        if any(dim < 0 for dim in shape):
            raise InvalidModel(f"{where} has a negative dimension", where, f"shape {list(shape)}")
        size = count * row.numpy.itemsize
        limit = allowance(self._store.limits, self.nbytes)
        if limit is not None and size > limit:
            raise exceeded("bytes_alive", f"{bytes_text(size)} when dense", bytes_text(limit), where)
        values, indices = self.values.load().reshape(-1), self.indices.load()
        positions = self._positions(indices, shape, values.size, where)
        if positions.size and (positions.min() < 0 or positions.max() >= count):
            raise InvalidModel(f"{where} has an index outside its shape", where, f"shape {list(shape)}")
        dense = np.zeros(count, row.numpy)
        dense[positions] = values
        dense = dense.reshape(shape)
        dense.flags.writeable = False
        return dense

    @staticmethod
    def _positions(indices: Array, shape: tuple[int, ...], count: int, where: str) -> Array:
        """Linear positions, from the two layouts: [nnz] linear, or [nnz, rank] coordinates."""
        if indices.dtype.kind in "iu" and indices.shape == (count,):
            return indices.astype(np.int64)
        if indices.dtype.kind in "iu" and indices.shape == (count, len(shape)):
            linear = np.zeros(count, np.int64)
            for axis, dim in enumerate(shape):
                column = indices[:, axis].astype(np.int64)
                if column.size and (column.min() < 0 or column.max() >= dim):
                    raise InvalidModel(
                        f"{where} has an index outside its shape", where, f"axis {axis}, shape {list(shape)}"
                    )
                linear = linear * dim + column
            return linear
        raise InvalidModel(
            f"{where} has indices that do not fit its {count} values", where, f"{indices.dtype}{list(indices.shape)}"
        )

    @property
    def tensor(self) -> onnx.SparseTensorProto:
        return self._store.filled(copy_of(self.sparse))


def _strings(data: Any, shape: tuple[int, ...]) -> Array:
    """Strings as str; as bytes, all of them, where one is not UTF-8."""
    items: list[Any] = list(data)
    with contextlib.suppress(UnicodeDecodeError):
        items = [item.decode("utf-8") for item in items]
    array = np.empty(len(items), object)
    array[:] = items
    return array.reshape(shape)
