from __future__ import annotations

from typing import Any

import numpy as np

from exec.arrays import Array
from exec.ir import Node
from passes.base import Refusal, Rewrite
from passes.dims import known
from passes.evaluate import evaluate_on
from passes.patch import Patch
from passes.region import Region
from passes.rules.fuse.linear import uniform
from passes.rules.move.transpose_down import MIXING, UNARY

VIEWS = frozenset(
    {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Expand", "Tile", "Slice", "Concat", "Identity"}
)
SMALL = 64


class FoldFilled(Rewrite):
    """Compute with a ConstantOfShape as with the one number it repeats.

    What    Unsqueeze(ConstantOfShape([64]), …)  becomes  ConstantOfShape([64, 1, 1]);  Mul of two becomes one of the product.
    Why     Folded to a constant it would fill the file with one number; left alone it hides weights from every other rule.
    When    All inputs repeat one element (or are single numbers), the op works element by element or moves elements, the shape is known.
    Not     Results of few elements: those become constants.
    Safety  EXACT: the op's own kernel runs on one element.
    Source  Constant folding.
    """

    id = "fold-filled"
    roots = (*sorted(VIEWS), *sorted(UNARY - VIEWS), *sorted(MIXING))
    BEFORE = """ g (float[1,300,2,2] x) => (float[1,300,2,2] y) <int64[1] n = {300}, int64[2] ax = {1, 2}, float two = {2}> {
        a = ConstantOfShape <value = float[1] {3}> (n)  b = Unsqueeze (a, ax)  c = Mul (b, two)  y = Add (x, c) } """
    AFTER = """ g (float[1,300,2,2] x) => (float[1,300,2,2] y) <int64[3] n = {300, 1, 1}> {
        c = ConstantOfShape <value = float[1] {6}> (n)  y = Add (x, c) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        out = node.outputs[0]
        if len(node.outputs) != 1 or region.is_output(out):
            return None
        element = self._element(node, region)
        shape = region.shape(out)
        if element is None or shape is None or not known(shape):
            return None
        sizes = [d for d in shape if isinstance(d, int)]
        if int(np.prod(sizes)) <= SMALL:
            return None
        patch = self.patch(region, node)
        target = patch.ints(sizes, f"{out.name}_shape")
        patch.add(
            "ConstantOfShape", [target], {"value": patch.constant(element.reshape(1), f"{out.name}_value")}, out=out
        )
        return patch

    def _element(self, node: Node, region: Region) -> Array | None:
        """The one number the result repeats, if a filled value is among the inputs."""
        data = node.inputs if node.op in MIXING or node.op == "Concat" else node.inputs[:1]
        if not any(_filled(t) for t in data):
            return None
        arrays = [self._one(t, region) for t in data]
        if any(a is None for a in arrays):
            return None
        found = [a for a in arrays if a is not None]
        if node.op in VIEWS:
            same = all(a.dtype == found[0].dtype and a.tobytes() == found[0].tobytes() for a in found)
            return found[0] if same else None
        rest: list[Any] = [region.constant(t) if t.name else None for t in node.inputs[len(data) :]]
        if any(a is None for a, t in zip(rest, node.inputs[len(data) :], strict=True) if t.name):
            return None
        values = evaluate_on(node, [*found, *rest], region)
        return None if values is None or values[0] is None or values[0].size != 1 else values[0]

    def _one(self, tensor: Any, region: Region) -> Array | None:
        array = region.constant(tensor)
        return None if array is None or not (array.size == 1 or uniform(array)) else array.reshape(-1)[:1]


def _filled(tensor: Any) -> bool:
    return bool(tensor.inputs) and tensor.inputs[0].op == "ConstantOfShape"
