"""Constants that explode when folded, and computations that cannot be done at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from corpus.case import BUDGET, CLEAN, ERROR, FINE, Case, text

BIG = 1_000_000_000_000


def ints(name: str, *values: int) -> str:
    return f"{name} = Constant<value = int64[{len(values)}] {{{', '.join(map(str, values))}}}>() "


def scalar(name: str, value: float, kind: str = "int64") -> str:
    return f"{name} = Constant<value = {kind} {{{value}}}>() "


def constant(body: str, output: str = "float[N] y", given: str = "float[2] x") -> Callable[[], bytes]:
    """A model whose work hangs on constants only, so that a folder meets it."""
    return text(f"g ({given}) => ({output}) {{ {body} }}")


def _bombs() -> Iterator[tuple[str, str]]:
    yield "ConstantOfShape", ints("s", BIG) + "y = ConstantOfShape(s)"
    yield "ConstantOfShape, then Size", ints("s", BIG) + "a = ConstantOfShape(s) b = Size(a) y = Cast<to = 1>(b)"
    yield "Range", scalar("a", 0) + scalar("b", BIG) + scalar("d", 1) + "r = Range(a, b, d) y = Cast<to = 1>(r)"
    yield "Tile", ints("s", BIG) + "y = Tile(x, s)"
    yield "Tile of a constant", ints("s", BIG) + "c = Constant<value = float[2] {1, 2}>() y = Tile(c, s)"
    yield "Expand", ints("s", 1_000_000, 1_000_000, 2) + "y = Expand(x, s)"
    yield "Pad", ints("s", BIG, BIG) + "y = Pad(x, s)"
    yield "sixty doublings", "a0 = Constant<value = float[2] {1, 2}>() " + "".join(f"a{i + 1} = Concat<axis = 0>(a{i}, a{i}) " for i in range(60)) + "y = Identity(a60)"  # fmt: skip
    yield "sixty squared shapes", ints("s0", 2, 2) + "".join(f"s{i + 1} = Mul(s{i}, s{i}) " for i in range(5)) + "y = ConstantOfShape(s5)"  # fmt: skip
    yield "Resize", ints("s", BIG) + 'y = Resize<mode = "nearest">(x, , , s)'
    yield "OneHot", scalar("d", BIG) + "i = Cast<to = 7>(x) v = Constant<value = float[2] {0, 1}>() y = OneHot(i, d, v)"
    yield "EyeLike", ints("s", 4_000_000, 4_000_000) + "c = ConstantOfShape(s) y = EyeLike(c)"
    yield "MatMul", ints("s", 400_000, 64) + ints("t", 64, 400_000) + "a = ConstantOfShape(s) b = ConstantOfShape(t) y = MatMul(a, b)"  # fmt: skip
    yield "outer product", ints("s", 4_000_000, 1) + ints("t", 1, 4_000_000) + "a = ConstantOfShape(s) b = ConstantOfShape(t) y = Add(a, b)"  # fmt: skip
    yield "RandomNormal", f"y = RandomNormal<shape = [{BIG}]>()"
    yield "HannWindow", scalar("n", BIG) + "y = HannWindow(n)"
    yield "CenterCropPad", ints("s", BIG) + "y = CenterCropPad<axes = [0]>(x, s)"
    yield "Einsum", ints("s", 300_000) + 'a = ConstantOfShape(s) y = Einsum<equation = "i,j->ij">(a, a)'
    yield "GatherND of a broadcast", ints("s", 1 << 40, 1) + "i = ConstantOfShape<value = int64[1] {0}>(s) y = GatherND(x, i)"  # fmt: skip
    yield "MelWeightMatrix", scalar("b", 1 << 40) + scalar("n", 1 << 40) + scalar("r", 16000) + scalar("lo", 0, "float") + scalar("hi", 8000, "float") + "y = MelWeightMatrix(b, n, r, lo, hi)"  # fmt: skip
    yield "strings that grow", "s0 = Constant<value = string {\"ab\"}>() " + "".join(f"s{i + 1} = StringConcat(s{i}, s{i}) " for i in range(50)) + "c = Shape(s50) y = Cast<to = 1>(c)"  # fmt: skip


def _impossible() -> Iterator[tuple[str, str]]:
    yield "Reshape to another size", ints("s", 5) + "y = Reshape(x, s)"
    yield "Reshape with two -1", ints("s", -1, -1) + "y = Reshape(x, s)"
    yield "Reshape with -2", ints("s", -2) + "y = Reshape(x, s)"
    yield "Gather outside", scalar("i", 7) + "y = Gather(x, i)"
    yield "ScatterND outside", ints("s", 1, 1) + "i = ConstantOfShape<value = int64[1] {9}>(s) u = Constant<value = float[1] {1}>() y = ScatterND(x, i, u)"  # fmt: skip
    yield "Slice by 0", ints("a", 0) + ints("b", 2) + ints("s", 0) + "y = Slice(x, a, b, a, s)"
    yield "Split to another sum", ints("s", 3, 4) + "y, z = Split(x, s)"
    yield "Transpose to one axis twice", "y = Transpose<perm = [0, 0]>(x)"
    yield "Squeeze of 2", ints("a", 0) + "y = Squeeze(x, a)"
    yield "Unsqueeze far away", ints("a", 9) + "y = Unsqueeze(x, a)"
    yield "Concat on an axis that is not there", "y = Concat<axis = 3>(x, x)"
    yield "shapes that do not broadcast", "c = Constant<value = float[3] {1, 2, 3}>() y = Add(x, c)"
    yield "MatMul of 2 by 3", "c = Constant<value = float[3] {1, 2, 3}>() y = MatMul(x, c)"
    yield "Range by 0", scalar("a", 0) + scalar("b", 9) + scalar("d", 0) + "r = Range(a, b, d) y = Cast<to = 1>(r)"
    yield "ConstantOfShape of -1", ints("s", -1) + "y = ConstantOfShape(s)"
    yield "Expand to -3", ints("s", -3) + "y = Expand(x, s)"
    yield "TopK of more", ints("k", 9) + "y, i = TopK(x, k)"
    yield "CumSum on axis 5", scalar("a", 5) + "y = CumSum(x, a)"
    yield "ReduceSum on axis 5", ints("a", 5) + "y = ReduceSum(x, a)"
    yield "Cast of words to numbers", 's = Constant<value = string[1] {"zebra"}>() y = Cast<to = 1>(s)'
    yield "Einsum of nonsense", 'y = Einsum<equation = "i->j->k">(x)'
    yield "an integer divided by 0", scalar("a", 1) + scalar("b", 0) + "c = Div(a, b) y = Cast<to = 1>(c)"


PICTURE = "float[1,2,4,4] x"


def _windows() -> Iterator[tuple[str, str]]:
    """Attributes no window can have."""
    yield "MaxPool by 0", "y = MaxPool<kernel_shape = [2, 2], strides = [0, 0]>(x)"
    yield "MaxPool of nothing", "y = MaxPool<kernel_shape = [0, 0]>(x)"
    yield "MaxPool larger than its picture", "y = MaxPool<kernel_shape = [9, 9]>(x)"
    yield "AveragePool with negative pads", "y = AveragePool<kernel_shape = [2, 2], pads = [-9, -9, -9, -9]>(x)"
    yield "Conv by 0", "w = Constant<value = float[1,2,1,1] {1, 1}>() y = Conv<strides = [0, 0]>(x, w)"
    yield "Conv of group 0", "w = Constant<value = float[1,2,1,1] {1, 1}>() y = Conv<group = 0>(x, w)"
    yield "Conv of three groups", "w = Constant<value = float[1,2,1,1] {1, 1}>() y = Conv<group = 3>(x, w)"
    yield "Conv of another rank", "w = Constant<value = float[2] {1, 1}>() y = Conv(x, w)"
    yield "Conv with dilation 0", "w = Constant<value = float[1,2,1,1] {1, 1}>() y = Conv<dilations = [0, 0]>(x, w)"
    yield "Conv with one stride", "w = Constant<value = float[1,2,1,1] {1, 1}>() y = Conv<strides = [1]>(x, w)"
    yield "DepthToSpace by 0", "y = DepthToSpace<blocksize = 0>(x)"
    yield "DepthToSpace of 2 by 3", "y = DepthToSpace<blocksize = 3>(x)"
    yield "LRN of size 0", "y = LRN<size = 0>(x)"
    yield "ConvTranspose of huge pads", "w = Constant<value = float[2,1,1,1] {1, 1}>() y = ConvTranspose<pads = [99, 99, 99, 99]>(x, w)"  # fmt: skip


def cases() -> Iterator[Case]:
    for name, body in _bombs():
        yield Case(f"fold/{name}", constant(body, _rank(name)), CLEAN, BUDGET)
    for name, body in _impossible():
        yield Case(f"fold/{name}", constant(body), CLEAN, ERROR)
    for name, body in _windows():
        yield Case(f"fold/{name}", constant(body, "float[A,B,C,D] y", PICTURE), CLEAN, ERROR)
    yield Case("fold/Loop that never ends", text("g (float[2] x) => (float[2] y) { go = Constant<value = bool {1}>() y = Loop(, go, x) <body = b (int64 i, bool c, float[2] v0) => (bool c1, float[2] v) { c1 = Identity(c) v = Add(v0, x) }> }"), CLEAN, BUDGET)  # fmt: skip
    yield Case("fold/a pattern that never ends", constant("s = Constant<value = string[1] {\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"}>() m = RegexFullMatch<pattern = \"(a+)+$\">(s) y = Cast<to = 1>(m)"), FINE, CLEAN)  # fmt: skip
    yield Case("fold/a shift by 70", constant("s = Constant<value = uint64[1] {1}>() t = Constant<value = uint64[1] {70}>() m = BitShift<direction = \"LEFT\">(s, t) y = Cast<to = 1>(m)"), FINE, CLEAN)  # fmt: skip
    for equation in ("ij.->", "....->", "i.j->ij", "i(j->ij", "i-j"):
        yield Case(f"fold/Einsum of {equation}", constant(f'y = Einsum<equation = "{equation}">(x)'), CLEAN, CLEAN)
    yield Case("fold/AveragePool of mostly padding", constant("y = AveragePool<kernel_shape = [20000, 20000], pads = [19999, 19999, 19999, 19999]>(x)", "float[A,B,C,D] y", PICTURE), CLEAN, BUDGET)  # fmt: skip
    yield Case(
        "fold/an input no array can be",
        text("g (float[9223372036854775807] x) => (float[N] y) { y = Neg(x) }"),
        CLEAN,
        CLEAN,
    )
    yield Case("fold/one input read 20,000 times", constant("y = Concat<axis = 0>(" + ", ".join(["x"] * 20_000) + ")"))
    yield Case("fold/a small constant", constant(ints("s", 4) + "y = ConstantOfShape(s)"))
    yield Case("fold/a constant of 40 MB", constant(ints("s", 10_000_000) + "y = ConstantOfShape(s)"), FINE, BUDGET)


def _rank(name: str) -> str:
    two = ("EyeLike", "MatMul", "outer product", "Einsum", "OneHot", "MelWeightMatrix", "sixty squared shapes")
    return {"Expand": "float[A,B,C] y"}.get(name, "float[A,B] y" if name in two else "float[N] y")
