from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from exec.ir import Constant
from passes.base import Refusal, Rewrite
from passes.patch import Patch
from passes.region import Region

SMALL = 1 << 16


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

    def find(self, region: Region) -> Iterator[Patch | Refusal]:
        if not region.is_main:
            return
        groups: dict[tuple[str, tuple[int, ...]], list[Constant]] = {}
        users: dict[int, Any] = {}
        for part in region.workspace.regions:
            if part.is_function:
                continue
            for node in part.nodes():
                for tensor in node.inputs:
                    if isinstance(tensor, Constant) and id(tensor) not in users and not isinstance(tensor.dtype, int):
                        users[id(tensor)] = (node, part)
                        groups.setdefault((str(tensor.dtype), tuple(tensor.shape)), []).append(tensor)
        for group in groups.values():
            if len(group) > 1:
                yield from self._group(group, users)

    def _group(self, group: list[Constant], users: dict[int, Any]) -> Iterator[Patch | Refusal]:
        kept: dict[Any, list[Constant]] = {}
        for tensor in group:
            array = tensor.values
            if array.dtype == object:
                continue
            data = array.tobytes() if array.nbytes <= SMALL else None
            key = data if data is not None else _sample(array)
            for other in kept.setdefault(key, []):
                if data is not None or array.tobytes() == other.values.tobytes():
                    node, part = users[id(tensor)]
                    if part.alive(node) and tensor.outputs and not part.is_output(tensor):
                        patch = self.patch(part, node)
                        patch.redirects.append((tensor, other))
                        yield patch
                    break
            else:
                kept[key].append(tensor)


def _sample(array: Any) -> tuple[Any, ...]:
    """A few bytes that tell most large arrays apart without reading them."""
    flat = array.reshape(-1)
    step = max(1, flat.size // 64)
    return ("sample", flat[::step][:64].tobytes(), flat[-1:].tobytes())
