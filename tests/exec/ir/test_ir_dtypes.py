"""The table of element types agrees with ONNX's own, and bytes go both ways."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from onnx import helper
from onnx import numpy_helper as nh

from exec import dtypes
from exec.errors import InvalidModel


def test_every_type_of_onnx_is_in_the_table_under_its_number_names_and_dtype() -> None:
    known = {name: code for name, code in onnx.TensorProto.DataType.items() if code}
    assert {row.onnx: row.code for row in dtypes.TABLE} == known
    for row in dtypes.TABLE:
        assert row.numpy == helper.tensor_dtype_to_np_dtype(row.code)
        assert row.field == helper.tensor_dtype_to_field(row.code)
        if row.bits >= 8:
            assert row.bits == 8 * row.numpy.itemsize
        value = (
            onnx.parser.parse_model(
                f'<ir_version: 13, opset_import: ["" : 25]> g ({row.text}[1] x) => ({row.text}[1] y) {{ y = Identity (x) }}'
            )
            if row.bits != 6
            else None
        )
        if value is not None:
            assert value.graph.input[0].type.tensor_type.elem_type == row.code


def test_codes_dtypes_and_names_lead_to_each_other() -> None:
    for row in dtypes.TABLE:
        assert dtypes.from_code(row.code) is row
        assert dtypes.from_numpy(row.numpy) is row
        assert dtypes.onnx_code(row.numpy) == dtypes.onnx_code(row.code) == row.code
        assert dtypes.dtype_name(row.numpy) == dtypes.dtype_name(row.code) == row.name
        assert {dtypes.BY_NAME[name] for name in (row.name, row.onnx, row.text)} == {row}
    assert dtypes.from_code(0) is None
    assert (dtypes.numpy_dtype(0), dtypes.numpy_dtype(99)) == (None, 99)
    assert (dtypes.dtype_name(None), dtypes.dtype_name(99)) == ("?", "type 99")
    assert dtypes.from_numpy("U5").name == "string"
    assert dtypes.from_numpy(np.dtype(">f4")).name == "float32"
    with pytest.raises(InvalidModel, match="datetime"):
        dtypes.from_numpy("M8[s]")


def test_kinds_are_told_apart() -> None:
    floats = {row.name for row in dtypes.TABLE if row.is_float}
    integers = {row.name for row in dtypes.TABLE if row.is_integer}
    assert {"float64", "bfloat16", "float4_e2m1fn", "float6_e3m2fn"} <= floats
    assert {"int2", "uint4", "int64"} <= integers
    assert not floats & integers
    assert not {"bool", "string", "complex64"} & (floats | integers)


@pytest.mark.parametrize("bits", [2, 4, 6])
@given(data=st.data())
def test_narrow_values_are_packed_and_unpacked(bits: int, data: st.DataObject) -> None:
    values = data.draw(hnp.arrays(np.uint8, st.integers(0, 70), elements=st.integers(0, (1 << bits) - 1)))
    packed = dtypes.pack(values, bits)
    assert packed.size == (values.size * bits + 7) // 8
    assert dtypes.unpack(packed, bits, values.size).tolist() == values.tolist()


@pytest.mark.parametrize("row", [row for row in dtypes.TABLE if row.bits], ids=lambda row: row.name)
def test_bytes_are_those_onnx_writes(row: dtypes.DType) -> None:
    for shape in ((), (0,), (7,), (3, 5)):
        array = np.random.default_rng(0).integers(0, 2, shape).astype(row.numpy)
        data = bytes(dtypes.to_bytes(np.asarray(array)))
        assert data == nh.from_array(np.asarray(array)).raw_data
        assert len(data) == dtypes.stored_bytes(row.code, int(np.prod(shape)))
        again = dtypes.from_bytes(data, row, shape)
        assert (again.dtype, again.shape, again.tobytes()) == (row.numpy, shape, np.asarray(array).tobytes())
        assert not again.flags.writeable


def test_arrays_of_any_layout_and_byte_order_are_written_little_endian() -> None:
    array = np.arange(6, dtype=">i4").reshape(2, 3).T
    assert bytes(dtypes.to_bytes(array)) == np.ascontiguousarray(array).astype("<i4").tobytes()
