"""The same file, inputs and kernels give the same bits: in every session, whatever memory held before and however fast the machine was."""

from __future__ import annotations

import ast
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exec.lowering
import exec.plan
from exec.compiled import available
from exec.ir import load
from exec.session import Session
from workbench.samples import sample

KERNELS = ("numpy", "compiled") if available() else ("numpy",)

PRODUCT = "g (float[16, 384] x) => (float[16, 1536] y) { y = MatMul(x, w) }"
QUANTIZED = """g (float[1, 3, 9, 9] x) => (float[1, 5, 9, 9] y) <float s = {0.03}, uint8 z = {128}, uint8 wz = {120}>
{ q, qs, qz = DynamicQuantizeLinear(x)  c = ConvInteger<pads = [1, 1, 1, 1]>(q, w, qz, wz)  f = Cast<to = 1>(c)  m = Mul(f, qs)
  u = QuantizeLinear(m, s, z)  d = DequantizeLinear(u, s, z)  y = Sigmoid(d) }"""


def drawn(*shape: int) -> Any:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def models(proto: Any) -> dict[str, tuple[Any, dict[str, Any]]]:
    bytes_ = np.random.default_rng(1).integers(0, 256, (5, 3, 3, 3), np.uint8)
    with np.load(sample("digits.npz")) as digits:
        images = digits[digits.files[0]]
    cnn = load(sample("digits_cnn.onnx"))
    shape = [d if isinstance(d, int) else 2 for d in cnn.inputs[0].shape or ()]
    image = np.resize(images.astype(np.float32), shape)
    return {
        "few rows": (load(proto(PRODUCT, w=drawn(384, 1536))), {"x": drawn(16, 384)}),
        "bytes": (load(proto(QUANTIZED, w=bytes_)), {"x": drawn(1, 3, 9, 9)}),
        "digits": (cnn, {cnn.inputs[0].name: image}),
    }


@pytest.mark.parametrize("kernels", KERNELS)
def test_what_memory_held_is_in_no_output(kernels: str, proto: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = exec.plan.aligned_empty

    def filled(byte: int, nbytes: int) -> Any:
        arena = real(nbytes)
        arena.fill(byte)
        return arena

    for name, (model, feeds) in models(proto).items():
        seen = set()
        for byte in (0, 1, 127, 255):  # 255 repeated is NaN, 127 a number near the largest
            monkeypatch.setattr(exec.plan, "aligned_empty", partial(filled, byte))
            session = Session(model, kernels=kernels)
            for _ in range(2):
                seen.add(b"".join(np.asarray(v).tobytes() for v in session.run(feeds).values()))
        assert len(seen) == 1, name


def test_no_lowering_looks_at_a_clock() -> None:
    """What a plan does may depend on the machine, not on how busy it was: another algorithm rounds in another order."""
    for path in sorted(Path(exec.lowering.__path__[0]).rglob("*.py")):
        imported = {
            name.split(".")[0]
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names])
        }
        assert not imported & {"time", "timeit", "datetime", "random"}, path
