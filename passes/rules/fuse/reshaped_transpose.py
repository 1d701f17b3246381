from __future__ import annotations

from passes.base import Refusal, Rewrite
from passes.patch import Patch
from passes.pattern import ANY, Match, any_, op
from passes.read import perm_of
from passes.region import Region
from passes.write import transpose


class FuseReshapedTranspose(Rewrite):
    """Transpose the last axes of a value at once, instead of flattening the leading ones around it.

    What    Reshape [B, H, S, D] → [B·H, S, D], Transpose<perm = [0, 2, 1]>, Reshape → [B, H, D, S]  becomes  Transpose<perm = [0, 1, 3, 2]>.
    Why     Two views less, and the Transpose meets its neighbours.
    When    The leading axes are merged into one, stay first, and come back as they were.
    Not     Other permutations.
    Safety  EXACT: the same elements.
    Source  How PyTorch exports attention.
    """

    id = "fuse-reshaped-transpose"
    pattern = op("Reshape", op("Transpose", op("Reshape", any_("x"), ANY, as_="flat"), as_="turn"), ANY)
    BEFORE = """ g (float[2,3,4,5] x) => (float[2,3,5,4] y) <int64[3] s = {6, 4, 5}, int64[4] t = {2, 3, 5, 4}> {
        a = Reshape (x, s)  b = Transpose <perm = [0, 2, 1]> (a)  y = Reshape (b, t) } """
    AFTER = """ g (float[2,3,4,5] x) => (float[2,3,5,4] y) { y = Transpose <perm = [0, 1, 3, 2]> (x) } """

    def rewrite(self, match: Match, region: Region) -> Patch | Refusal | None:
        x, out = region.shape(match["x"]), region.shape(match.root.outputs[0])
        flat, perm = region.shape(match["flat"].outputs[0]), perm_of(match["turn"], region)
        if x is None or out is None or flat is None or perm is None or len(out) != len(x) or perm[0] != 0:
            return None
        kept = len(flat) - 1
        lead = len(x) - kept
        if lead < 2 or flat[1:] != x[lead:]:
            return None
        full = [*range(lead), *(p - 1 + lead for p in perm[1:])]
        if tuple(x[p] for p in full) != out:
            return None
        patch = self.patch(region, match.root, *match.nodes)
        transpose(patch, match["x"], full, out=match.root.outputs[0])
        return patch
