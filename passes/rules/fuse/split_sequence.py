from __future__ import annotations

import numpy as np

from exec.ir import Node
from passes.base import Refusal, Rewrite
from passes.patch import Patch
from passes.region import Region
from passes.write import split, squeeze

MOST_PARTS = 256


class ReplaceSplitToSequence(Rewrite):
    """Take a value apart into values of their own instead of a sequence.

    What    SplitToSequence(x)  becomes  SequenceConstruct(Split(x)), of which fuse-sequence leaves the Split.
    Why     Few runtimes fuse across a sequence, and some have none; exporters write one for a split into equal parts.
    When    The size of the axis is known, the lengths are constant, and the sequence is read by position only, or joined again.
    Not     Positions that are computed; sequences that are outputs; more than 256 parts.
    Safety  EXACT: the same elements.
    Source  ONNX SplitToSequence.
    """

    id = "replace-split-to-sequence"
    roots = ("SplitToSequence",)
    BEFORE = """ g (float[4,6] x) => (float[4,3] y) <int64 n = {3}, int64 i = {0}, int64 j = {1}> {
        s = SplitToSequence <axis = 1> (x, n)  a = SequenceAt (s, i)  b = SequenceAt (s, j)  y = Sub (a, b) } """
    AFTER = """ g (float[4,6] x) => (float[4,3] y) <int64[2] n = {3, 3}, int64 i = {0}, int64 j = {1}> {
        p, q = Split <axis = 1> (x, n)  s = SequenceConstruct (p, q)  a = SequenceAt (s, i)  b = SequenceAt (s, j)  y = Sub (a, b) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        x, sequence = node.inputs[0], node.outputs[0]
        for reader in region.readers(sequence):
            by_position = region.is_plain(reader, "SequenceAt") and region.scalar(reader.inputs[1]) is not None
            if not by_position and not region.is_plain(reader, "ConcatFromSequence"):
                return Refusal(f"the sequence is also read by {reader.name or reader.op}", node, self.id)
        if region.is_output(sequence) or region.is_unread(sequence):
            return None
        axis, size = int(node.attrs.get("axis", 0)), region.dim(x, int(node.attrs.get("axis", 0)))
        if not isinstance(size, int):
            return Refusal(f"the size of axis {axis} is not known", node, self.id)
        lengths = self._lengths(node, size, region)
        if lengths is None:
            return Refusal("its lengths are computed", node, self.id)
        if len(lengths) > MOST_PARTS:
            return Refusal(f"it has {len(lengths):,} parts, {MOST_PARTS} are taken apart", node, self.id)
        if sum(lengths) != size or min(lengths, default=0) < 1:
            return None
        patch = self.patch(region, node)
        parts = split(patch, x, lengths, axis, [None] * len(lengths)) if len(lengths) > 1 else [x]
        if not region.has(node, 1) and not node.attrs.get("keepdims", 1):
            parts = [squeeze(patch, part, [axis]) for part in parts]
        patch.add("SequenceConstruct", parts, out=sequence)
        return patch

    def _lengths(self, node: Node, size: int, region: Region) -> list[int] | None:
        given = region.constant(node.inputs[1]) if region.has(node, 1) else np.array(1)
        if given is None:
            return None
        if given.ndim:
            return [int(v) for v in given]
        length = max(int(given), 1)
        whole, rest = divmod(size, length)
        return [length] * whole + ([rest] if rest else [])
