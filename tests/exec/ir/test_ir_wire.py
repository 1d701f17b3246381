"""The wire walker replaces payloads by tokens and puts them back, byte for byte, without parsing."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from onnx import TensorProto as T

from exec.ir import wire
from exec.ir.names import varint

NONCE = bytes(range(200, 216))


def field(number: int, payload: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def strip(data: bytes, kind: int = wire.MODEL) -> wire.Stripped:
    return wire.strip(lambda offset, length: data[offset : offset + length], len(data), NONCE, kind)


def spliced(data: bytes, stripped: wire.Stripped, kind: int = wire.MODEL) -> bytes:
    pieces, length = wire.splice(stripped.data, NONCE, kind)
    out = b""
    for piece in pieces:
        if isinstance(piece, bytes):
            out += piece
        elif isinstance(piece, tuple):
            out += stripped.data[piece[0] : piece[1]]
        else:
            offset, size = stripped.spans[piece.index]
            assert size == piece.length
            out += data[offset : offset + size]
    assert len(out) == length
    return out


def tensor(size: int, name: str = "w") -> bytes:
    return T(name=name, data_type=T.UINT8, dims=[size], raw_data=bytes(size)).SerializeToString()


def test_the_walk_knows_the_fields_of_onnx_by_their_numbers() -> None:
    names = {kind: name for name, kind in wire.KINDS.items()}
    for kind, name in names.items():
        descriptor = getattr(onnx, name).DESCRIPTOR
        wanted = {
            f.number: wire.KINDS[f.message_type.name]
            for f in descriptor.fields
            if f.message_type and f.message_type.name in wire.KINDS
        }
        assert wire.INNER[kind] == wanted
    assert T.DESCRIPTOR.fields_by_name["raw_data"].number == wire.RAW_DATA


def test_a_large_payload_becomes_a_token_and_a_small_one_stays() -> None:
    data = field(7, field(5, tensor(wire.MIN_PAYLOAD)) + field(5, tensor(wire.MIN_PAYLOAD - 1)))
    stripped = strip(data)
    assert len(stripped.spans) == 1
    assert len(stripped.data) < len(data) - wire.MIN_PAYLOAD + 64
    assert spliced(data, stripped) == data


def test_tensors_are_found_wherever_one_can_sit() -> None:
    big = tensor(5000)
    sparse = field(1, big) + field(2, big)
    branch = field(5, big) + field(15, sparse)
    attributes = (
        field(5, big)
        + field(6, branch)
        + field(9, b"no tensor" * 500)
        + field(10, big)
        + field(11, branch)
        + field(22, sparse)
        + field(23, sparse)
    )
    node = field(5, attributes)
    graph = field(1, node) + field(5, big) + field(15, sparse)
    function = field(7, node) + field(11, attributes)
    data = field(7, graph) + field(25, function) + field(20, field(1, graph) + field(2, graph))
    stripped = strip(data)
    assert len(stripped.data) < 60_000
    assert b"\0" * 100 not in stripped.data
    assert spliced(data, stripped) == data


def test_graphs_at_the_top_are_counted() -> None:
    assert strip(field(7, b"") * 3).graphs == 3


def test_groups_and_unknown_fields_stay_where_they_are() -> None:
    group = varint(60 << 3 | 3) + field(5, b"x" * 3000) + varint(9 << 3) + varint(7) + varint(60 << 3 | 4)
    unknown = varint(77 << 3 | 1) + bytes(8) + varint(78 << 3 | 5) + bytes(4) + field(7000, b"y" * 2000)
    data = field(7, group + field(5, group + tensor(2000) + unknown) + unknown)
    stripped = strip(data)
    assert len(stripped.spans) == 1
    assert spliced(data, stripped) == data


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (field(7, bytes(10))[:-1], "claims 10 bytes where 9 are left"),
        (b"\x3a\xff", "ends inside a field's header"),
        (b"\x3a" + b"\xff" * 10 + b"\x01", "more than ten bytes"),
        (varint(1 << 3 | 6), "no field can begin"),
        (varint(1 << 3 | 4), "no field can begin"),
        (varint(1 << 3 | 3), "beyond the end"),
        (varint(1 << 3 | 1) + bytes(3), "beyond the end"),
    ],
)
def test_what_is_cut_short_or_no_message_is_said(data: bytes, why: str) -> None:
    with pytest.raises(wire.MalformedError, match=why):
        strip(data)


def test_nesting_has_an_end() -> None:
    data = field(5, bytes(3000))
    for _ in range(60):
        data = field(7, field(1, field(5, field(6, data)))) if len(data) < 3100 else field(1, field(5, field(6, data)))
    with pytest.raises(wire.MalformedError, match="nested more than"):
        strip(field(7, data))


def test_a_source_that_is_read_in_windows_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    data = field(
        7, b"".join(field(5, tensor(size)) for size in (10, 3000, 1, 100_000, 70, 1500)) + field(2, b"n" * 300)
    )
    whole = strip(data)
    monkeypatch.setattr(wire, "WHOLE", 0)
    for window in (24, 64, 1000):
        monkeypatch.setattr(wire, "WINDOW", window)
        assert strip(data) == whole


# Fields that no kind of message descends into, so that their bytes need not be one.
LEAVES = [3, 4, 8, 9, 12, 13, 14, 16, 17, 18, 19, 21, 24, 26, 27, 30, 300]


def messages(depth: int) -> Any:
    payload = st.binary(max_size=40) | st.integers(1000, 3000).map(bytes)
    leaf = st.builds(field, st.sampled_from(LEAVES), payload)
    scalar = st.builds(lambda n, v: varint(n << 3) + varint(v), st.integers(1, 30), st.integers(0, 1 << 63))
    fixed = st.builds(lambda n, v: varint(n << 3 | 5) + v, st.integers(1, 30), st.binary(min_size=4, max_size=4))
    tensor_field = st.integers(0, 3000).map(lambda n: field(7, field(5, field(9, field(3, bytes(n))))))
    if depth == 0:
        return st.lists(leaf | scalar | fixed | tensor_field, max_size=5).map(b"".join)
    inner = st.builds(field, st.sampled_from([1, 2, 5, 6, 7, 10, 11, 15, 20, 22, 23, 25]), messages(depth - 1))
    return st.lists(leaf | scalar | fixed | tensor_field | inner, max_size=4).map(b"".join)


@given(messages(4))
@example(field(7, field(5, field(9, bytes(2000)) + field(9, bytes(1500)))))
def test_any_message_comes_back(data: bytes) -> None:
    stripped = strip(data)
    assert spliced(data, stripped) == data


@given(messages(3), st.integers(0, 400), st.integers(0, 255))
def test_any_damage_gives_the_same_message_or_a_named_error(data: bytes, at: int, value: int) -> None:
    damaged = bytearray(data or b"\0")
    damaged[at % len(damaged)] = value
    try:
        stripped = strip(bytes(damaged))
    except wire.MalformedError:
        assert not parses(damaged)
        return
    restored = spliced(bytes(damaged), stripped)
    if parses(damaged):
        # Equal as messages: a header that took more bytes than it needs is written short.
        assert onnx.ModelProto.FromString(restored) == onnx.ModelProto.FromString(bytes(damaged))


def parses(data: bytes | bytearray) -> bool:
    from exec.ir.protobuf import DecodeError

    try:
        onnx.ModelProto.FromString(bytes(data))
    except DecodeError:
        return False
    return True
