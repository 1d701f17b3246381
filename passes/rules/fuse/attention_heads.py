from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from exec.ir import Node
from passes.base import Refusal, Rewrite
from passes.patch import Patch
from passes.read import perm_of
from passes.region import Region
from passes.rules.eliminate.noop_shape import same_shape

SWAP = [0, 2, 1, 3]


class FuseAttentionHeads(Rewrite):
    """Let Attention split and join the heads itself.

    What    Reshape and Transpose around Attention on all four sides  become  Attention<q_num_heads, kv_num_heads>(Q, K, V) of three axes.
    Why     Eight nodes less, four of them copies of the activation.
    When    Opset 23; Q, K and V come from [batch, length, heads·size] by Reshape and Transpose, and the result goes back the same way.
    Not     Heads that are read elsewhere.
    Safety  EXACT: the same elements.
    Source  ONNX Attention.
    """

    id = "fuse-attention-heads"
    needs = 23
    roots = ("Reshape",)
    BEFORE = """ g (float[2,5,8] q, float[2,5,8] k, float[2,5,8] v) => (float[2,5,8] y) <int64[4] s = {2,5,2,4}, int64[3] t = {2,5,8}> {
        q4 = Reshape (q, s)  qt = Transpose <perm = [0, 2, 1, 3]> (q4)  k4 = Reshape (k, s)  kt = Transpose <perm = [0, 2, 1, 3]> (k4)
        v4 = Reshape (v, s)  vt = Transpose <perm = [0, 2, 1, 3]> (v4)
        a = Attention (qt, kt, vt)  at = Transpose <perm = [0, 2, 1, 3]> (a)  y = Reshape (at, t) } """
    AFTER = """ g (float[2,5,8] q, float[2,5,8] k, float[2,5,8] v) => (float[2,5,8] y) { y = Attention <q_num_heads = 2, kv_num_heads = 2> (q, k, v) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        turn = region.producer(node.inputs[0], "Transpose")
        attention = (
            None if turn is None or perm_of(turn, region) != SWAP else region.producer(turn.inputs[0], "Attention")
        )
        if turn is None or attention is None or len(attention.inputs) > 4 or len(attention.outputs) != 1:
            return None
        parts = [split_heads(t, region) for t in attention.inputs[:3]]
        if any(p is None for p in parts):
            return Refusal("its heads are not split by a Reshape and a Transpose", attention)
        found = [p for p in parts if p is not None]
        heads = [p[1] for p in found]
        shape = region.shape(turn.outputs[0])
        out = region.shape(node.outputs[0])
        if shape is None or out is None or len(out) != 3 or heads[1] != heads[2] or heads[0] != shape[2]:
            return None
        if not same_shape(out, (shape[0], shape[1], shape[2] * shape[3])):
            return None
        for tensor, reader in ((attention.outputs[0], turn), (turn.outputs[0], node)):
            if not region.only_read_by(tensor, reader):
                return Refusal(f"{tensor.name} is also read elsewhere", reader)
        patch = self.patch(region, node, *(n for p in found for n in p[2]), attention, turn)
        attrs = {**attention.attrs, "q_num_heads": heads[0], "kv_num_heads": heads[1]}
        patch.add("Attention", [*(p[0] for p in found), *attention.inputs[3:]], attrs, out=node.outputs[0])
        return patch


def split_heads(tensor: Any, region: Region, perm: Sequence[int] = SWAP) -> tuple[Any, int, list[Node]] | None:
    """The value of three axes behind Transpose(Reshape(x)), its heads, and the two nodes."""
    turn = region.producer(tensor, "Transpose")
    split = None if turn is None or perm_of(turn, region) != list(perm) else region.producer(turn.inputs[0], "Reshape")
    if turn is None or split is None:
        return None
    x, shape = region.shape(split.inputs[0]), region.shape(split.outputs[0])
    if x is None or shape is None or len(x) != 3 or len(shape) != 4 or not isinstance(shape[2], int):
        return None
    return (split.inputs[0], shape[2], [split, turn]) if x == (shape[0], shape[1], shape[2] * shape[3]) else None
