from __future__ import annotations

from exec.ir import Node
from passes.base import Refusal, Rewrite, Safety
from passes.patch import Patch
from passes.region import Region
from passes.rules.eliminate.neutral import keeps_shape


class ReplacePow(Rewrite):
    """Write small powers as what they are: x² = x·x, x⁻¹ = 1/x.

    What    Pow(x, 2)  becomes  Mul(x, x);  Pow(x, -1) becomes Reciprocal(x).
    Why     A general power costs a logarithm and an exponential per element.
    When    The exponent is one constant and x is of a float type (for 2: of any type with a Mul).
    Not     Exponents that differ between elements; other powers. A square whose mean is taken: runtimes recognise normalizations by it. √x is not x^½ at -0 and -∞.
    Safety  ROUNDING: pow of the C library may round the last bit otherwise.
    Source  Algebra.
    """

    id = "replace-pow"
    safety = Safety.ROUNDING
    roots = ("Pow",)
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) <float k = {2}> { y = Pow (x, k) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { y = Mul (x, x) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        x, exponent = node.inputs
        power, dtype = region.scalar(exponent), region.dtype(x)
        if (
            power not in (2.0, -1.0)
            or dtype is None
            or dtype != region.dtype(node.outputs[0])
            or not keeps_shape(x, exponent, node, region)
        ):
            return None
        if power == 2.0 and any(r.op == "ReduceMean" for r in region.readers(node.outputs[0])):
            return Refusal("the mean of the square is taken: runtimes recognise a normalization by this Pow", node)
        if power == 2.0:
            if dtype.kind in "iu" and region.opset < 14 and dtype.itemsize < 4:
                return None
            inputs, op = [x, x], "Mul"
        elif dtype.kind != "f":
            return None
        else:
            inputs, op = [x], "Reciprocal"
        patch = self.patch(region, node)
        patch.add(op, inputs, out=node.outputs[0])
        return patch
