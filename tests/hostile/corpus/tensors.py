"""Weights whose bytes, dims and type do not agree, and odd ones that do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

from corpus.case import BUDGET, CLEAN, ERROR, FINE, Case, built

ADD = "g (float[2,3] x) => (float[2,3] y) { y = Add(x, w) }"


def weight(change: Callable[[onnx.TensorProto], object], dims: Sequence[int] = (2, 3), dtype: int = T.FLOAT) -> Callable[[], bytes]:  # fmt: skip
    def add(proto: onnx.ModelProto) -> None:
        tensor = proto.graph.initializer.add(name="w", data_type=dtype, dims=dims)
        change(tensor)

    return built(add, ADD)


def raw(data: bytes) -> Callable[[onnx.TensorProto], object]:
    return lambda tensor: setattr(tensor, "raw_data", data)


def typed(dtype: int, data: bytes, dims: Sequence[int]) -> Callable[[], bytes]:
    """A weight of a rare type behind a Cast, so that the model itself is right."""

    def add(proto: onnx.ModelProto) -> None:
        proto.graph.initializer.add(name="w", data_type=dtype, dims=dims, raw_data=data)

    return built(add, "g (float[1] x) => (float[N] y) { c = Cast<to = 1>(w) y = Add(x, c) }", opset=23)


def sparse(indices: np.ndarray, dims: Sequence[int] = (2, 3), count: int | None = None) -> Callable[[], bytes]:
    def add(proto: onnx.ModelProto) -> None:
        values = np.arange(1, (len(indices) if count is None else count) + 1, dtype=np.float32)
        item = h.make_sparse_tensor(nh.from_array(values, "w"), nh.from_array(indices.astype(np.int64), "w_at"), dims)
        proto.graph.sparse_initializer.append(item)

    return built(add, ADD)


def cases() -> Iterator[Case]:
    def wrong(name: str, make: Callable[[], bytes], says: str = "") -> Case:
        return Case(f"tensor/{name}", make, ERROR, ERROR, says)

    six = np.arange(6, dtype=np.float32)
    yield wrong("raw data too short", weight(raw(six.tobytes()[:-4])), "w")
    yield wrong("raw data too long", weight(raw(six.tobytes() + b"\0\0\0\0")), "w")
    yield wrong("raw data not whole elements", weight(raw(six.tobytes()[:-1])), "w")
    yield wrong("no data at all", weight(lambda t: None), "w")
    yield wrong("float_data too short", weight(lambda t: t.float_data.extend([1.0])), "w")
    yield wrong("float_data too long", weight(lambda t: t.float_data.extend([1.0] * 9)), "w")
    yield wrong("data in another type's field", weight(lambda t: t.int64_data.extend(range(6))), "w")
    yield wrong("typed data of two types", weight(lambda t: (t.float_data.extend([1.0] * 6), t.int64_data.append(1))), "w")  # fmt: skip
    yield wrong("uint32 out of range", weight(lambda t: t.uint64_data.extend([1 << 40] * 6), dtype=T.UINT32), "w")
    yield wrong("raw and typed data both", weight(lambda t: (t.float_data.extend([1.0] * 6), raw(six.tobytes())(t))))
    yield wrong("a negative dim", weight(raw(b""), dims=(-1, 3)), "w")
    yield wrong("dims that overflow", weight(raw(b""), dims=(1 << 40, 1 << 40)), "w")
    yield wrong("dims that wrap to six", weight(raw(six.tobytes()), dims=(1 << 32, 1 << 32, 6)), "w")
    yield wrong("a petabyte", weight(raw(b"\0" * 64), dims=(1 << 50,)), "w")
    yield wrong("type 0", weight(raw(six.tobytes()), dtype=0), "w")
    yield wrong("type 999", weight(raw(six.tobytes()), dtype=999), "w")
    yield wrong("strings as raw data", weight(raw(b"abcdef"), dtype=T.STRING), "w")
    yield wrong("int8 out of range", weight(lambda t: t.int32_data.extend([300] * 6), dtype=T.INT8), "w")
    yield wrong("bool of 7", weight(lambda t: t.int32_data.extend([7] * 6), dtype=T.BOOL), "w")
    yield wrong("a segment", weight(lambda t: (raw(six.tobytes())(t), setattr(t.segment, "end", 6))))
    yield wrong("sparse index outside", sparse(np.array([0, 6])), "w")
    yield wrong("sparse index negative", sparse(np.array([-1, 2])), "w")
    yield wrong("sparse indices unsorted", sparse(np.array([4, 1])), "w")
    yield wrong("sparse indices repeated", sparse(np.array([1, 1])), "w")
    yield wrong("sparse pairs outside", sparse(np.array([[0, 3]])), "w")
    yield wrong("sparse counts differ", sparse(np.array([0, 1]), count=3), "w")
    yield Case("tensor/sparse of eight gigabytes", sparse(np.array([0]), dims=(1 << 31,)), FINE, BUDGET)
    yield Case("tensor/sparse of a terabyte", sparse(np.array([0]), dims=(1 << 38, 6)), FINE, BUDGET)

    yield Case("tensor/no elements", built(lambda p: p.graph.initializer.add(name="w", data_type=1, dims=[0]), "g (float[0] x) => (float[0] y) { y = Add(x, w) }"))  # fmt: skip
    yield Case("tensor/no elements but huge dims", built(lambda p: p.graph.initializer.add(name="w", data_type=1, dims=[0, 1 << 40]), "g (float[0,1] x) => (float[0,M] y) { y = Add(x, w) }"), FINE, CLEAN)  # fmt: skip
    yield Case("tensor/a scalar", built(lambda p: p.graph.initializer.append(nh.from_array(np.float32(2), "w")), ADD))
    yield Case("tensor/twelve dims", built(lambda p: p.graph.initializer.append(nh.from_array(np.ones((1,) * 12, np.float32), "w")), "g (float[2] x) => (float[1,1,1,1,1,1,1,1,1,1,1,2] y) { y = Add(x, w) }"))  # fmt: skip
    yield Case("tensor/seventy dims", built(lambda p: p.graph.initializer.append(h.make_tensor("w", 1, (1,) * 70, [1.0])), ADD), ERROR, ERROR)  # fmt: skip
    for value in ("nan", "inf", "-inf"):
        yield Case(f"tensor/all {value}", weight(raw(np.full(6, float(value), np.float32).tobytes())), FINE, FINE)
    yield Case("tensor/denormals", weight(raw(np.full(6, 1e-40, np.float32).tobytes())))
    yield Case("tensor/bool bytes of 2", built(lambda p: p.graph.initializer.add(name="w", data_type=T.BOOL, dims=[2, 3], raw_data=b"\2" * 6), "g (float[2,3] x) => (float[2,3] y) { y = Where(w, x, x) }"), FINE, CLEAN)  # fmt: skip
    yield Case("tensor/int4, odd count", typed(T.INT4, b"\x21\x03", [3]))
    yield Case("tensor/uint4", typed(T.UINT4, b"\x21\x43", [4]))
    yield Case("tensor/bfloat16", typed(T.BFLOAT16, b"\x80\x3f" * 4, [4]))
    yield Case("tensor/float8e4m3fn", typed(T.FLOAT8E4M3FN, b"\x38" * 4, [4]))
    yield Case("tensor/float8e5m2fnuz", typed(T.FLOAT8E5M2FNUZ, b"\x40" * 4, [4]))
    yield Case("tensor/double", typed(T.DOUBLE, np.ones(4).tobytes(), [4]))
    yield Case("tensor/sparse that is right", sparse(np.array([0, 4])))
    yield Case("tensor/sparse pairs that are right", sparse(np.array([[0, 0], [1, 2]])))
    yield Case("tensor/nobody reads it", built(lambda p: p.graph.initializer.append(nh.from_array(six, "unused"))))
