from __future__ import annotations

from typing import ClassVar

from passes.base import Rewrite
from passes.patch import Patch
from passes.pattern import Match, any_, op
from passes.region import Region


class FuseSwish(Rewrite):
    """Recognise Swish, also called SiLU.

    What    x·Sigmoid(x)  becomes  Swish(x).
    Why     One pass instead of two, for runtimes that have it.
    When    Opset 24, target "portable".
    Not     onnxruntime, which fuses Sigmoid and Mul itself and runs Swish as its function body.
    Safety  EXACT: the definition.
    Source  ONNX Swish; Elfwing et al. 2017 (arXiv 1702.03118).
    """

    id = "fuse-swish"
    needs = 24
    targets: ClassVar[tuple[str, ...]] = ("portable",)
    pattern = op("Mul", any_("x"), op("Sigmoid", any_("x"), as_="gate"))
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) { a = Sigmoid (x)  y = Mul (x, a) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { y = Swish (x) } """

    def rewrite(self, match: Match, region: Region) -> Patch | None:
        dtype = region.dtype(match["x"])
        if dtype is None or dtype.name not in ("float32", "float16", "bfloat16"):
            return None
        patch = self.patch(region, match.root, match["gate"])
        patch.add("Swish", [match["x"]], out=match.root.outputs[0])
        return patch


class FuseMish(Rewrite):
    """Recognise Mish.

    What    x·Tanh(Softplus(x))  becomes  Mish(x).
    Why     One pass instead of three, for runtimes that have it.
    When    Opset 18, target "portable".
    Not     onnxruntime, which runs Mish as its function body.
    Safety  EXACT: the definition.
    Source  ONNX Mish; Misra 2019 (arXiv 1908.08681).
    """

    id = "fuse-mish"
    needs = 18
    targets: ClassVar[tuple[str, ...]] = ("portable",)
    pattern = op("Mul", any_("x"), op("Tanh", op("Softplus", any_("x"), as_="inner"), as_="gate"))
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) { a = Softplus (x)  b = Tanh (a)  y = Mul (x, b) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { y = Mish (x) } """

    def rewrite(self, match: Match, region: Region) -> Patch | None:
        dtype = region.dtype(match["x"])
        if dtype is None or dtype.kind != "f":
            return None
        patch = self.patch(region, match.root, match["inner"], match["gate"])
        patch.add("Mish", [match["x"]], out=match.root.outputs[0])
        return patch
