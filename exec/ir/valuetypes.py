"""TypeProto ⇄ (dtype, shape, kind), and patches that keep every field nobody changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exec import dtypes
from exec.errors import InvalidModel
from exec.ir.names import set_text, text

if TYPE_CHECKING:
    import onnx

Shape = tuple[int | str | None, ...] | None


def read_type(proto: onnx.TypeProto) -> tuple[Any, Shape, str | None]:
    """The innermost dtype, the shape (of a tensor or sparse tensor only) and which kind of type it is."""
    kind = proto.WhichOneof("value")
    if kind == "tensor_type" or kind == "sparse_tensor_type":
        inner = proto.tensor_type if kind == "tensor_type" else proto.sparse_tensor_type
        shape = tuple([read_dim(dim) for dim in inner.shape.dim]) if inner.HasField("shape") else None
        return dtypes.numpy_dtype(inner.elem_type), shape, kind
    return _innermost(proto), None, kind


def read_dim(dim: Any) -> int | str | None:
    """A dim's size, symbol, or None; an empty symbol says nothing."""
    which = dim.WhichOneof("value")
    if which == "dim_value":
        return int(dim.dim_value)
    return text(dim.dim_param) or None if which else None


def _innermost(proto: onnx.TypeProto) -> Any:
    while True:
        kind = proto.WhichOneof("value")
        if kind == "sequence_type" or kind == "optional_type":
            proto = getattr(proto, kind).elem_type
        elif kind == "map_type":
            proto = proto.map_type.value_type
        elif kind == "tensor_type" or kind == "sparse_tensor_type":
            return dtypes.numpy_dtype(getattr(proto, kind).elem_type)
        else:
            return None


def write_type(proto: onnx.TypeProto, dtype: Any, shape: Shape, kind: str | None, where: str) -> None:
    """Fill an empty TypeProto."""
    code = dtypes.onnx_code(dtype)
    if kind in ("tensor_type", "sparse_tensor_type", None):
        inner = proto.sparse_tensor_type if kind == "sparse_tensor_type" else proto.tensor_type
        if code:
            inner.elem_type = code
        _write_shape(inner, shape)
    elif kind in ("sequence_type", "optional_type"):
        inner = getattr(proto, kind).elem_type.tensor_type
        inner.elem_type = code
        _write_shape(inner, shape)
    else:
        raise InvalidModel(
            f"a value of type {kind} cannot be made anew", where, hint="keep the value the file came with"
        )


def _write_shape(inner: Any, shape: Shape) -> None:
    if shape is None:
        return
    inner.shape.SetInParent()
    for dim in shape:
        _write_dim(inner.shape.dim.add(), dim)


def _write_dim(proto: Any, dim: Any) -> None:
    if isinstance(dim, str):
        set_text(proto, "dim_param", dim)
    elif dim is not None:
        proto.dim_value = int(dim)
    else:
        which = proto.WhichOneof("value")
        if which:
            proto.ClearField(which)


def patch_type(
    proto: onnx.TypeProto, before: tuple[Any, Shape, str | None], after: tuple[Any, Shape, str | None], where: str
) -> None:
    """Write what differs between `before` and `after` into a TypeProto; denotations stay."""
    if before[2] != after[2] and before[2] is not None:
        raise InvalidModel(
            f"a {before[2]} cannot become a {after[2]}", where, hint="make a new Variable and rewire its readers"
        )
    kind = after[2]
    if before[2] is None or proto.WhichOneof("value") is None:
        proto.ClearField("tensor_type")
        write_type(proto, *after, where)
        return
    if kind not in ("tensor_type", "sparse_tensor_type"):
        raise InvalidModel(
            f"the type of a {kind} cannot be changed", where, hint="make a new Variable and rewire its readers"
        )
    inner = getattr(proto, kind)
    if not same_dtype(before[0], after[0]):
        inner.elem_type = dtypes.onnx_code(after[0])
    old, new = before[1], after[1]
    if old == new:
        return
    if new is None:
        inner.ClearField("shape")
        return
    if not inner.HasField("shape") or len(inner.shape.dim) != len(new):
        del inner.shape.dim[:]
        _write_shape(inner, new)
        return
    for position, dim in enumerate(new):
        if old is None or len(old) != len(new) or not same_dim(old[position], dim):
            _write_dim(inner.shape.dim[position], dim)


def same_dim(a: Any, b: Any) -> bool:
    """Whether two dims say the same: 3 and a numpy 3 do, 3 and "3" do not."""
    return bool(a == b and isinstance(a, str) == isinstance(b, str))


def same_dtype(a: Any, b: Any) -> bool:
    """Whether two element types say the same; numpy compares a dtype with None by guessing."""
    if a is None or b is None:
        return a is b
    return bool(a == b)
