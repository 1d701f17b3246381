"""Models that pictures are taken of and that no sample has: a C2f block, names that attack a terminal, an operator nobody knows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

_NAMES = (
    "x[/]y", "[red]x[/red]", "[@click=app.bell]n[/]", "[link=file:///etc/passwd]n[/link]", "a[b", "tail\\", "\x1b]0;pwn\x07", "\x1b[2J", "\x9b31m",
    "nul\x00", "\u202ertl", "new\nline", "tab\there", "cr\rx", "long" * 200, "宽" * 9, "é\u0301\u0301",
)  # fmt: skip


def _save(
    path: Path, nodes: list[onnx.NodeProto], output: str, shape: list[int], weights: list[onnx.TensorProto]
) -> Path:
    value = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("image", [1, 8, 40, 40]), (output, shape))
    ]
    graph = helper.make_graph(nodes, path.stem, value[:1], value[1:], weights)
    onnx.save(
        helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("my.domain", 1)], ir_version=9
        ),
        path,
    )
    return path


def c2f(folder: Path) -> Path:
    """Two bottlenecks with their skips inside one split and concat, as detectors have it; weights are random."""
    rng, nodes, weights = np.random.default_rng(0), [], []

    def conv(scope: str, x: str, inside: int, outside: int, kernel: int) -> str:
        pad, out = kernel // 2, f"/{scope}/act/Mul_output_0"
        weights.append(
            numpy_helper.from_array(
                (rng.standard_normal((outside, inside, kernel, kernel)) * 0.2).astype(np.float32),
                f"{scope}.conv.weight",
            )
        )
        nodes.append(
            helper.make_node(
                "Conv", [x, weights[-1].name], [f"/{scope}/conv/Conv_output_0"], f"/{scope}/conv/Conv", pads=[pad] * 4
            )
        )
        nodes.append(
            helper.make_node(
                "Sigmoid", [f"/{scope}/conv/Conv_output_0"], [f"/{scope}/act/Sigmoid_output_0"], f"/{scope}/act/Sigmoid"
            )
        )
        nodes.append(
            helper.make_node(
                "Mul", [f"/{scope}/conv/Conv_output_0", f"/{scope}/act/Sigmoid_output_0"], [out], f"/{scope}/act/Mul"
            )
        )
        return out

    x = conv("model.2/cv1", "image", 8, 16, 1)
    halves = ["/model.2/Split_output_0", "/model.2/Split_output_1"]
    nodes.append(helper.make_node("Split", [x], halves, "/model.2/Split", axis=1))
    parts, last = list(halves), halves[1]
    for k in range(2):
        inner = conv(f"model.2/m.{k}/cv2", conv(f"model.2/m.{k}/cv1", last, 8, 8, 3), 8, 8, 3)
        nodes.append(helper.make_node("Add", [last, inner], [f"/model.2/m.{k}/Add_output_0"], f"/model.2/m.{k}/Add"))
        last = nodes[-1].output[0]
        parts.append(last)
    nodes.append(helper.make_node("Concat", parts, ["/model.2/Concat_output_0"], "/model.2/Concat", axis=1))
    return _save(
        folder / "c2f.onnx", nodes, conv("model.2/cv2", "/model.2/Concat_output_0", 32, 16, 1), [1, 16, 40, 40], weights
    )


def heavy(folder: Path) -> Path:
    """Convolutions that take a second, so that one can see them work."""
    rng, nodes, weights, last = np.random.default_rng(0), [], [], "image"
    for k in range(24):
        inside = 8 if not k else 96
        weights.append(
            numpy_helper.from_array(
                (rng.standard_normal((96, inside, 7, 7)) * 0.02).astype(np.float32), f"stage.{k}.weight"
            )
        )
        nodes.append(
            helper.make_node(
                "Conv", [last, weights[-1].name], [f"/stage.{k}/Conv_output_0"], f"/stage.{k}/Conv", pads=[3] * 4
            )
        )
        last = nodes[-1].output[0]
    return _save(folder / "heavy.onnx", nodes, last, [1, 96, 40, 40], weights)


def hostile(folder: Path) -> Path:
    """A chain of one node a name."""
    nodes, last = [], "image"
    for k, name in enumerate(_NAMES):
        nodes.append(helper.make_node("Relu", [last], [f"{name}{k}"], name))
        last = nodes[-1].output[0]
    return _save(folder / "hostile.onnx", nodes, last, [1, 8, 40, 40], [])


def foreign(folder: Path) -> Path:
    """An operator that nothing can run."""
    nodes = [
        helper.make_node("Relu", ["image"], ["a"], "/head/Relu"),
        helper.make_node("RoiPool", ["a"], ["b"], "/head/RoiPool", domain="my.domain"),
    ]
    return _save(folder / "foreign.onnx", nodes, "b", [1, 8, 40, 40], [])
