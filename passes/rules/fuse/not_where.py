from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.pattern import Match, any_, op
from passes.region import Region


class FuseNotWhere(Rewrite):
    """Swap the branches of a Where instead of negating its condition.

    What    Where(Not(c), x, z)  becomes  Where(c, z, x).
    Why     One pass less over the mask.
    When    Always; where the Not has other readers it stays for them.
    Not     -
    Safety  EXACT: the same choice.
    Source  ONNX Where.
    """

    id = "fuse-not-where"
    pattern = op("Where", op("Not", any_("c"), as_="not", shared=True), any_("x"), any_("z"))
    BEFORE = """ g (bool[2,3] c, float[2,3] x, float[2,3] z) => (float[2,3] y) { n = Not (c)  y = Where (n, x, z) } """
    AFTER = """ g (bool[2,3] c, float[2,3] x, float[2,3] z) => (float[2,3] y) { y = Where (c, z, x) } """

    def rewrite(self, match: Match, region: Region) -> Patch | None:
        root: Node = match.root
        patch = self.patch(region, root, match["not"])
        patch.add("Where", [match["c"], match["z"], match["x"]], out=root.outputs[0])
        return patch
