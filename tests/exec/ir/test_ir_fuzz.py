"""Mutated models: byte-equal where protobuf can parse them, a named error where not, never anything else."""

from __future__ import annotations

import random
from collections.abc import Callable

import onnx
import pytest

from exec.errors import BenchError
from exec.ir import load, wire
from exec.ir.protobuf import DecodeError


def mutate(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        at, kind = rng.randrange(len(out)), rng.random()
        if kind < 0.5:
            out[at] = rng.randrange(256)
        elif kind < 0.6:
            out[at : at + rng.randrange(8)] = b""
        elif kind < 0.75:
            out[at:at] = rng.randbytes(rng.randrange(5))
        elif kind < 0.9:
            source = rng.randrange(len(data))
            out[at:at] = data[source : source + rng.randrange(40)]
        else:
            out[at] ^= 1 << rng.randrange(8)
        out = out or bytearray(b"\0")
    return bytes(out)


def run(seed: bytes, rounds: int, exact: Callable[[onnx.ModelProto], bytes]) -> int:
    rng, parsed = random.Random(len(seed)), 0
    for _ in range(rounds):
        data = mutate(seed, rng)
        try:
            load(data, strict=False)
        except BenchError as error:
            assert str(error)  # noqa: PT017
        try:
            proto = onnx.ModelProto.FromString(data)
        except DecodeError:
            continue
        parsed += 1
        model = load(proto, strict=False)
        assert exact(model.to_proto()) == exact(proto)
        assert exact(model.copy().to_proto()) == exact(proto)
    return parsed


@pytest.mark.parametrize("smallest", [wire.MIN_PAYLOAD, 33], ids=["as it is", "every weight a token"])
def test_a_few_mutants(
    rich: onnx.ModelProto, exact: Callable[[onnx.ModelProto], bytes], smallest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "MIN_PAYLOAD", smallest)
    assert run(rich.SerializeToString(), 300, exact) > 20


@pytest.mark.slow
@pytest.mark.parametrize("smallest", [wire.MIN_PAYLOAD, 33], ids=["as it is", "every weight a token"])
def test_many_mutants(
    rich: onnx.ModelProto, exact: Callable[[onnx.ModelProto], bytes], smallest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "MIN_PAYLOAD", smallest)
    small = onnx.ModelProto()
    small.CopyFrom(rich)
    for tensor in small.graph.initializer:
        if len(tensor.raw_data) > 64:
            tensor.raw_data, tensor.dims[:] = bytes(48), [3, 4]
    assert run(small.SerializeToString(), 30_000, exact) > 2000
