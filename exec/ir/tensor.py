"""Values: variable and constant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_graphsurgeon as gs
from onnx_graphsurgeon.ir.tensor import LazyValues

from exec.arrays import Array
from exec.dtypes import BY_NUMPY, dtype_name
from exec.ir.described import Described
from exec.ir.links import Links
from exec.ir.weights import Weight

if TYPE_CHECKING:
    from exec.ir.records import Origin

_set = object.__setattr__


class Variable(Described, gs.Variable):
    """A value that exists only at run time.

    dtype    a numpy dtype, an int where the file names a type nobody knows, or None
    shape    None (unknown rank) or a list whose dims are an int, a str symbol or None
    type     "tensor_type", "sequence_type", "optional_type", "map_type", "sparse_tensor_type", "opaque_type" or None
    default  the Weight of an overridable initializer: an input that need not be fed
    """

    default: Weight | None = None
    _t: Origin | None = None

    def __init__(
        self,
        name: str,
        dtype: Any = None,
        shape: Sequence[int | str | None] | None = None,
        type: str | None = "tensor_type",
    ) -> None:
        _set(self, "name", name)
        _set(self, "inputs", Links(self, "outputs"))
        _set(self, "outputs", Links(self, "inputs"))
        _set(self, "dtype", dtype)
        _set(self, "shape", None if shape is None else list(shape))
        _set(self, "type", type)

    @staticmethod
    def empty() -> Variable:
        """A fresh place-holder for an optional input or output that is left out."""
        return Variable("")

    def _proto(self) -> Any:
        return None if self._t is None else self._t.proto

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __str__(self) -> str:
        dims = "?" if self.shape is None else ",".join("?" if d is None else str(d) for d in self.shape)
        return f"{self.name or '-'}: {dtype_name(self.dtype)}[{dims}]"

    __repr__ = __str__

    def to_constant(self, values: Array | Weight, data_location: Any = None, export_dtype: Any = None) -> Constant:
        """Become a Constant in place: every reader sees it."""
        self.__dict__.pop("default", None)
        for name in ("dtype", "shape", "type"):
            self.__dict__.pop(name, None)
        self.__class__ = Constant  # type: ignore[assignment]
        twin: Any = self
        twin._values = values
        twin.data_location = None
        twin._export_dtype = None
        assert isinstance(twin, Constant)
        return twin

    def copy(self) -> Variable:
        """The same value without its links."""
        twin = Variable(self.name, self.dtype, self.shape, self.type)
        _carry(self, twin)
        if self.default is not None:
            _set(twin, "default", self.default)
        return twin


class Constant(Described, gs.Constant):
    """A value that is known. Its array is read-only: a rewrite that changes a weight makes a new Constant.

    Arithmetic on arrays without axes gives numpy scalars: they are held as arrays, as what a file gives is.
    """

    _t: Origin | None = None
    _src: Weight | None = None

    def __init__(
        self, name: str, values: Array | np.generic | Weight, data_location: Any = None, export_dtype: Any = None
    ) -> None:
        _set(self, "name", name)
        _set(self, "inputs", Links(self, "outputs"))
        _set(self, "outputs", Links(self, "inputs"))
        self.values = values
        _set(self, "data_location", data_location)
        _set(self, "_export_dtype", export_dtype)

    def _proto(self) -> Any:
        return None if self._src is None else self._src.proto

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    @property
    def values(self) -> Array:
        """The array. Raises `ExternalDataError` where the bytes are in a file that is not there."""
        values = self._values
        array: Array = values.load() if isinstance(values, LazyValues) else values
        return array

    @values.setter
    def values(self, values: Array | np.generic | Weight) -> None:
        _set(self, "_values", np.asarray(values) if isinstance(values, np.generic) else values)

    @property
    def shape(self) -> list[int]:
        return list(self._values.shape)

    @property
    def dtype(self) -> Any:
        return self._values.dtype

    @property
    def nbytes(self) -> int:
        """Bytes as stored in a file."""
        values = self._values
        if isinstance(values, Weight):
            return values.nbytes
        row = BY_NUMPY.get(values.dtype)
        return int(values.nbytes) if row is None or row.bits == 0 else (int(values.size) * row.bits + 7) // 8

    def __str__(self) -> str:
        return f"{self.name}: constant {dtype_name(self.dtype)}[{','.join(map(str, self.shape))}]"

    __repr__ = __str__

    def to_variable(self, dtype: Any = None, shape: Sequence[int | str | None] | None = None) -> Variable:
        """Become a Variable in place: every reader sees it. Type and shape stay unless others are given."""
        dtype = self.dtype if dtype is None else dtype
        shape = list(self.shape if shape is None else shape)
        for name in ("_values", "_export_dtype", "data_location", "_src"):
            self.__dict__.pop(name, None)
        self.__class__ = Variable  # type: ignore[assignment]
        twin: Any = self
        twin.dtype, twin.shape, twin.type = dtype, shape, "tensor_type"
        assert isinstance(twin, Variable)
        return twin

    def copy(self) -> Constant:
        """The same weight without its links."""
        twin = Constant(self.name, self._values)
        _carry(self, twin)
        if self._src is not None:
            _set(twin, "_src", self._src)
        return twin


def _carry(source: Variable | Constant, target: Variable | Constant) -> None:
    if source._t is not None:
        _set(target, "_t", source._t)
    if source._metadata is not None:
        _set(target, "_metadata", dict(source._metadata))
    if source._doc is not None:
        _set(target, "_doc", source._doc)


Tensor = Variable | Constant
