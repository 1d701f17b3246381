from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

from exec.ir import Constant
from exec.ir.streaming import equal, sampled
from passes.base import Refusal, Rewrite
from passes.patch import Patch
from passes.region import Region


class MergeDuplicateInitializers(Rewrite):
    """Keep one of several equal constants.

    What    Two initializers of the same type, shape and bytes become one.
    Why     Smaller files, and equal expressions become visible.
    When    Bytes are equal (so -0.0 and 0.0 stay apart).
    Not     Overridable initializers, which are inputs.
    Safety  EXACT: the same bytes.
    Source  Weight tying.
    """

    id = "merge-duplicate-initializers"
    BEFORE = """ g (float[2] x) => (float[2] y) <float[2] w1 = {1.5, 2}, float[2] w2 = {1.5, 2}> { a = Add (x, w1)  b = Mul (x, w2)  y = Sub (a, b) } """
    AFTER = """ g (float[2] x) => (float[2] y) <float[2] w1 = {1.5, 2}> { a = Add (x, w1)  b = Mul (x, w1)  y = Sub (a, b) } """

    def __init__(self) -> None:
        self._digests: WeakKeyDictionary[Constant, bytes] = WeakKeyDictionary()

    def find(self, region: Region) -> Iterator[Patch | Refusal]:
        if not region.is_main:
            return
        groups: dict[tuple[Any, tuple[int, ...]], list[Constant]] = {}
        users: dict[int, Any] = {}
        for part in region.workspace.regions:
            if part.is_function:
                continue
            for node in part.nodes():
                for tensor in node.inputs:
                    if isinstance(tensor, Constant) and id(tensor) not in users and not isinstance(tensor.dtype, int):
                        users[id(tensor)] = (node, part)
                        groups.setdefault((tensor.dtype, tuple(tensor.shape)), []).append(tensor)
        for group in groups.values():
            if len(group) > 1:
                yield from self._group(group, users)

    def _group(self, group: list[Constant], users: dict[int, Any]) -> Iterator[Patch | Refusal]:
        kept: dict[bytes, list[Constant]] = {}
        for tensor in group:
            if tensor.dtype == object:
                continue
            for other in kept.setdefault(key := self._digest(tensor), []):
                if equal(tensor._values, other._values):
                    node, part = users[id(tensor)]
                    if part.alive(node) and tensor.outputs and not part.is_output(tensor):
                        patch = self.patch(part, node)
                        patch.redirects.append((tensor, other))
                        yield patch
                    break
            else:
                kept[key].append(tensor)

    def _digest(self, tensor: Constant) -> bytes:
        """What tells most constants apart; a constant never changes, so it is read once."""
        found = self._digests.get(tensor)
        if found is None:
            found = self._digests[tensor] = sampled(tensor._values)
        return found
