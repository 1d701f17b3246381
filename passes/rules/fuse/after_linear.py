"""The shared matching of "a linear layer, then arithmetic per channel"."""

from __future__ import annotations

from typing import ClassVar

from exec.ir import Node
from passes.base import Refusal, Rewrite, Safety
from passes.patch import Patch
from passes.region import Region
from passes.rules.fuse.linear import Affine, Linear, affine_of, repeated, uniform

LARGE = 2.0**20
"""A bias above this leaves float32 less than three digits after the point: adding it may be meant to round."""


class FuseIntoLinear(Rewrite):
    """Fold the root into the layer that makes one of its inputs. Subclasses name the layers and the roots."""

    safety = Safety.ROUNDING
    layers: ClassVar[tuple[str, ...]] = ()

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        for x in node.inputs[:1] if node.op == "BatchNormalization" else node.inputs[:2]:
            layer = region.producer(x, *self.layers)
            if layer is not None:
                return self._fuse(node, x, layer, region)
        return None

    def _fuse(self, node: Node, x: object, layer: Node, region: Region) -> Patch | Refusal | None:
        linear = Linear.of(layer, region)
        if linear is None or isinstance(linear, Refusal):
            return linear
        affine = affine_of(node, x, linear.channels, linear.axis, linear.rank, region)
        if affine is None or isinstance(affine, Refusal):
            return affine
        if uniform(linear.weight):
            # so that the result repeats one number, too, where it does
            affine = Affine(repeated(affine.scale), repeated(affine.shift))
            linear.bias = repeated(linear.bias)
        if affine.shift is not None and bool((abs(affine.shift) > LARGE).any()):
            return Refusal("the number added is so large that it takes digits away, maybe on purpose", node)
        if region.is_output(x):
            return Refusal(f"the output of {layer.name or layer.op} is also a graph output", layer)
        if not region.only_read_by(x, node):
            other = next(r for r in region.readers(x) if r is not node)
            return Refusal(f"the output of {layer.name or layer.op} is also read by {other.name or other.op}", layer)
        if affine.scale is not None and uniform(linear.weight) and not uniform(affine.scale):
            added = linear.weight.nbytes
            if not region.workspace.ledger.affords(added):
                return Refusal(f"the weight repeats one number; scaled it would need {added} bytes", layer)
        patch = self.patch(region, node, layer)
        linear.write(patch, affine, node.outputs[0])
        return patch
