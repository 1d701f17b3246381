from __future__ import annotations

from exec.ir import Node
from passes.base import Refusal, Rewrite, Safety
from passes.patch import Patch
from passes.pattern import Match, any_, number, op, scalar
from passes.region import Region
from passes.rules.eliminate.noop_shape import same_shape

_EXP = op("Add", op("Exp", any_("x")), number(1.0))


class FuseSigmoid(Rewrite):
    """Recognise Sigmoid written with Exp.

    What    1 / (1 + Exp(−x))  becomes  Sigmoid(x); Reciprocal(1 + Exp(−x)) too.
    Why     One pass instead of four, and no overflow on the way.
    When    Nothing else reads what lies between.
    Not     Other constants.
    Safety  ROUNDING: other order of the same operations.
    Source  ONNX Sigmoid.
    """

    id = "fuse-sigmoid"
    safety = Safety.ROUNDING
    roots = ("Div", "Reciprocal")
    forms = (
        op("Div", number(1.0), op("Add", op("Exp", op("Neg", any_("x"))), number(1.0))),
        op("Reciprocal", op("Add", op("Exp", op("Neg", any_("x"))), number(1.0))),
    )
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) <float one = {1}> { a = Neg (x)  b = Exp (a)  c = Add (b, one)  y = Div (one, c) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { y = Sigmoid (x) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        for form in self.forms:
            match = form.match(node, region)
            if match is not None:
                return match.objection or _named(self, match, "Sigmoid", {}, region)
        return None


class FuseSoftplus(Rewrite):
    """Recognise Softplus written with Exp and Log.

    What    Log(1 + Exp(x))  becomes  Softplus(x).
    Why     One pass instead of three, and no overflow on the way.
    When    Nothing else reads what lies between.
    Not     Other constants.
    Safety  ROUNDING: more exact where Exp overflows or vanishes beside 1.
    Source  ONNX Softplus.
    """

    id = "fuse-softplus"
    safety = Safety.ROUNDING
    finite_only = True
    pattern = op("Log", _EXP)
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) <float one = {1}> { a = Exp (x)  b = Add (a, one)  y = Log (b) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { y = Softplus (x) } """

    def rewrite(self, match: Match, region: Region) -> Patch | None:
        return _named(self, match, "Softplus", {}, region)


class FuseLeakyRelu(Rewrite):
    """Recognise LeakyRelu written as a maximum.

    What    Max(x, α·x)  becomes  LeakyRelu<alpha = α>(x)  for 0 ≤ α ≤ 1.
    Why     One pass instead of two.
    When    α is one constant, and nothing else reads the product.
    Not     Other α, where the maximum is the other branch.
    Safety  EXACT: the same product, chosen by sign.
    Source  ONNX LeakyRelu.
    """

    id = "fuse-leaky-relu"
    pattern = op("Max", any_("x"), op("Mul", any_("x"), scalar("alpha")))
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) <float k = {0.125}> { a = Mul (x, k)  y = Max (x, a) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { y = LeakyRelu <alpha = 0.125> (x) } """

    def rewrite(self, match: Match, region: Region) -> Patch | None:
        alpha = match.number("alpha")
        return _named(self, match, "LeakyRelu", {"alpha": alpha}, region) if 0 <= alpha <= 1 else None


def _named(rule: Rewrite, match: Match, op_type: str, attrs: dict[str, float], region: Region) -> Patch | None:
    """The matched formula as the op it is."""
    x, out = match["x"], match.root.outputs[0]
    dtype = region.dtype(x)
    if dtype is None or dtype.kind != "f" or not same_shape(region.shape(x), region.shape(out)):
        return None
    patch = rule.patch(region, match.root, *match.nodes)
    patch.add(op_type, [x], dict(attrs), out=out)
    return patch
