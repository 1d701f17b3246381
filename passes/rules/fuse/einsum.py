from __future__ import annotations

from exec.ir import Node
from passes.base import Refusal, Rewrite, Safety
from passes.patch import Patch
from passes.region import Region


class ReplaceEinsum(Rewrite):
    """Write an Einsum that is a product of matrices as MatMul.

    What    Einsum<"bij,jk->bik">(x, w)  becomes  MatMul(x, w).
    Why     MatMul is BLAS everywhere; Einsum is often interpreted.
    When    Two terms, one summed letter, last of the first term and last but one of the second (or its only one); leading letters equal.
    Not     Equations that need a transposed operand, repeated letters or an ellipsis.
    Safety  ROUNDING: BLAS may add in another order.
    Source  ONNX Einsum.
    """

    id = "replace-einsum"
    safety = Safety.ROUNDING
    roots = ("Einsum",)
    BEFORE = (
        """ g (float[2,5,3] x) => (float[2,5,4] y) <float[3,4] w> { y = Einsum <equation = "bij,jk->bik"> (x, w) } """
    )
    AFTER = """ g (float[2,5,3] x) => (float[2,5,4] y) <float[3,4] w> { y = MatMul (x, w) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        equation = str(node.attrs.get("equation", "")).replace(" ", "")
        dtype = region.dtype(node.outputs[0])
        if len(node.inputs) != 2 or "->" not in equation or "." in equation or dtype is None or dtype.kind not in "fiu":
            return None
        terms, _, out = equation.partition("->")
        a, _, b = terms.partition(",")
        if not is_matmul(a, b, out):
            return Refusal(f"{equation} is not one product of matrices as they lie", node)
        if [region.rank(t) for t in node.inputs] != [len(a), len(b)] or not self._equal_batch(a, b, node, region):
            return None
        patch = self.patch(region, node)
        patch.add("MatMul", list(node.inputs), out=node.outputs[0])
        return patch

    def _equal_batch(self, a: str, b: str, node: Node, region: Region) -> bool:
        """Einsum's letters are equal sizes, except that 1 broadcasts in some runtimes: only sizes that are equal count."""
        if len(b) <= 2:
            return True
        x, y = region.shape(node.inputs[0]), region.shape(node.inputs[1])
        return x is not None and y is not None and x[:-2] == y[:-2]


def is_matmul(a: str, b: str, out: str) -> bool:
    """Whether `a,b->out` is what MatMul does to operands of these ranks."""
    if not a.isalpha() or not b.isalpha() or len(set(a)) != len(a) or len(set(b)) != len(b) or len(a) < 2 or len(b) < 2:
        return False
    summed, column = a[-1], b[-1]
    if b[-2] != summed or column in a or summed in out:
        return False
    batch = b[:-2]
    if batch and batch != a[:-2]:
        return False
    return out == a[:-1] + column
