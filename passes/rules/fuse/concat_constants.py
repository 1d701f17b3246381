from __future__ import annotations

from typing import Any

import numpy as np

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.region import Region


class FuseConcatConstants(Rewrite):
    """Join constants that stand side by side in a Concat.

    What    Concat(x, k, l)  becomes  Concat(x, kl).
    Why     Fewer inputs to copy, and shapes that are half constant become readable.
    When    Two or more constants in a row.
    Not     A Concat of constants only, which is folded.
    Safety  EXACT: the same elements in the same order.
    Source  ONNX Concat.
    """

    id = "fuse-concat-constants"
    roots = ("Concat",)
    BEFORE = """ g (float[2] x) => (float[5] y) <float[1] k = {1}, float[2] l = {2, 3}> { y = Concat <axis = 0> (x, k, l) } """
    AFTER = """ g (float[2] x) => (float[5] y) <float[3] kl = {1, 2, 3}> { y = Concat <axis = 0> (x, kl) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        runs: list[list[Any]] = []
        for tensor in node.inputs:
            if runs and region.is_constant(tensor) and region.is_constant(runs[-1][0]):
                runs[-1].append(tensor)
            else:
                runs.append([tensor])
        if len(runs) == len(node.inputs) or len(runs) == 1:
            return None
        patch = self.patch(region, node)
        inputs: list[Any] = []
        for run in runs:
            arrays = [region.constant(t) for t in run] if len(run) > 1 else []
            if len(run) == 1 or any(a is None for a in arrays):
                inputs.extend(run)
            else:
                joined = np.concatenate([a for a in arrays if a is not None], axis=int(node.attrs.get("axis", 1)))
                inputs.append(patch.constant(joined, run[0].name))
        if len(inputs) == len(node.inputs):
            return None
        patch.add("Concat", inputs, node.attrs, out=node.outputs[0])
        return patch
