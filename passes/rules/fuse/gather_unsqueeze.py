from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.pattern import Match, any_, const, op
from passes.read import unsqueeze_axes
from passes.region import Region


class FuseGatherUnsqueeze(Rewrite):
    """Take a slice of length one instead of an element that is then given its axis back.

    What    Unsqueeze(Gather<axis = a>(x, i), a)  becomes  Gather<axis = a>(x, [i]).
    Why     One node less; shape arithmetic is full of these.
    When    i is one constant number, and nothing else reads the Gather.
    Not     Another axis.
    Safety  EXACT: the same elements.
    Source  ONNX Gather.
    """

    id = "fuse-gather-unsqueeze"
    pattern = op("Unsqueeze", op("Gather", any_("x"), const("i"), as_="gather"), rest=True)
    BEFORE = """ g (float[N,3,4] x) => (float[N,1,4] y) <int64 i = {1}, int64[1] ax = {1}> { a = Gather <axis = 1> (x, i)  y = Unsqueeze (a, ax) } """
    AFTER = """ g (float[N,3,4] x) => (float[N,1,4] y) <int64[1] i = {1}> { y = Gather <axis = 1> (x, i) } """

    def rewrite(self, match: Match, region: Region) -> Patch | None:
        root: Node = match.root
        gather: Node = match["gather"]
        axes, rank = unsqueeze_axes(root, region), region.rank(match["x"])
        index = match.array("i")
        if index.ndim != 0 or rank is None or axes != [int(gather.attrs.get("axis", 0)) % rank]:
            return None
        patch = self.patch(region, root, gather)
        patch.add(
            "Gather", [match["x"], patch.constant(index.reshape(1), match["i"].name)], gather.attrs, out=root.outputs[0]
        )
        return patch
