"""Little models that make long work, or keep much while they work, without making a large result."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.case import BUDGET, CLEAN, FINE, Case, text
from corpus.folding import ints, scalar

FORWARD = "m = Constant<value = int64 {%d}>() go = Constant<value = bool {1}>() "


def _views() -> Iterator[tuple[str, str]]:
    """One number shown as many, then read."""
    yield "a sum", ints("s", 100_000, 100_000) + "e = Expand(q, s) r = ReduceSum<keepdims = 0>(e)"
    yield "a maximum's place", ints("s", 3_000_000_000) + "e = Expand(q, s) i = ArgMax(e) r = Cast<to = 1>(i)"
    yield "a softmax", ints("s", 100_000_000, 2) + "e = Expand(q, s) f = Softmax(e) r = ReduceSum<keepdims = 0>(f)"
    yield (
        "a condition",
        ints("s", 2_000_000_000) + "e = Expand(q, s) c = Constant<value = bool[1] {1}>() r = Compress(e, c)",
    )
    yield (
        "random numbers",
        ints("s", 200_000_000) + "e = Expand(q, s) f = RandomNormalLike(e) r = ReduceSum<keepdims = 0>(f)",
    )
    yield "coins", ints("s", 200_000_000) + "e = Expand(q, s) f = Bernoulli(e) r = ReduceSum<keepdims = 0>(f)"
    yield (
        "dropping out",
        ints("s", 200_000_000)
        + "e = Expand(q, s) t = Constant<value = bool {1}>() p = Constant<value = float {0.5}>() f = Dropout(e, p, t) r = ReduceSum<keepdims = 0>(f)",
    )
    yield (
        "what is not zero",
        ints("s", 100_000_000) + "e = Expand(q, s) i = NonZero(e) f = Cast<to = 1>(i) r = ReduceSum<keepdims = 0>(f)",
    )
    yield "different values", ints("s", 20_000_000) + "e = Expand(q, s) r = Unique(e)"
    yield "a triangle", ints("s", 20_000, 20_000) + "e = Expand(q, s) f = Trilu(e) r = ReduceSum<keepdims = 0>(f)"
    yield "a spectrum", ints("s", 2, 3_000_017, 1) + "e = Expand(q, s) f = DFT(e) r = ReduceSum<keepdims = 0>(f)"
    yield (
        "numbers as words",
        ints("s", 3_000_000) + "e = Expand(q, s) f = Cast<to = 8>(e) i = Shape(f) r = Cast<to = 1>(i)",
    )
    yield (
        "words in pieces",
        ints("s", 3_000_000)
        + 'w = Constant<value = string[1] {"a b c"}>() e = Expand(w, s) f, n = StringSplit<delimiter = " ">(e) r = Cast<to = 1>(n)',
    )
    yield (
        "a sequence of ten million",
        ints("s", 10_000_000) + "e = Expand(q, s) f = SplitToSequence(e) i = SequenceLength(f) r = Cast<to = 1>(i)",
    )


def _copies() -> Iterator[tuple[str, str]]:
    """What an operation keeps beside its result."""
    yield "a softplus", ints("s", 30_000_000) + "e = Expand(q, s) r = Softplus(e)"
    yield "the last of equals", ints("s", 30_000, 20_000) + "e = Expand(q, s) i = ArgMin<axis = 1, select_last_index = 1>(e) r = Cast<to = 1>(i)"  # fmt: skip
    yield "a sum of halves", ints("s", 400_000_000) + "h = Cast<to = 10>(q) e = Expand(h, s) f = ReduceSum(e) r = Cast<to = 1>(f)"  # fmt: skip
    yield "a view laid out", "p = Concat<axis = 0>(x, x) " + ints("s", 50_000_000, 4) + ints("t", -1) + "e = Expand(p, s) f = Reshape(e, t) r = ReduceMax(f)"  # fmt: skip
    yield "a frame of mirrors", ints("s", 1000) + ints("p", 10_000_000, 10_000_000) + 'e = Expand(q, s) r = Pad<mode = "reflect">(e, p)'  # fmt: skip
    yield "a sequence put together", ints("s", 5_000_000) + f"e = Expand(q, s) f = SequenceConstruct({', '.join(['e'] * 100)}) r = ConcatFromSequence<axis = 0>(f)"  # fmt: skip
    yield "many rows of a memory", ints("s", 10, 100_000, 1) + ints("t", 1, 100, 1) + ints("u", 1, 100, 100) + "a = Expand(q, s) b = Expand(q, t) c = Expand(q, u) r = RNN<hidden_size = 100>(a, b, c)"  # fmt: skip
    yield "a grid read by cubes", ints("s", 1, 1, 100, 100) + ints("g", 1, 2000, 2000, 2) + 'a = Expand(q, s) b = Expand(q, g) r = GridSample<mode = "cubic">(a, b)'  # fmt: skip
    yield "a wide window turned round", ints("s", 1, 64, 200, 200) + ints("w", 64, 64, 9, 9) + "a = Expand(q, s) b = Expand(q, w) r = ConvTranspose(a, b)"  # fmt: skip
    yield "a spectrum of prime length", ints("s", 1, 10, 1) + "e = Expand(q, s) n = Constant<value = int64 {15485863}>() r = DFT(e, n)"  # fmt: skip


def _products() -> Iterator[tuple[str, str]]:
    yield (
        "a product of views",
        ints("s", 60_000, 60_000) + ints("t", 60_000, 1) + "a = Expand(q, s) b = Expand(q, t) r = MatMul(a, b)",
    )
    yield (
        "a product of integers",
        ints("s", 3000, 3000) + "e = Expand(q, s) i = Cast<to = 7>(e) p = MatMul(i, i) r = Cast<to = 1>(p)",
    )
    yield (
        "a chain of products",
        ints("s", 3000, 3000)
        + "e0 = Expand(q, s) "
        + "".join(f"e{k + 1} = MatMul(e{k}, e{k}) " for k in range(40))
        + "r = ReduceSum<keepdims = 0>(e40)",
    )
    yield (
        "a large window",
        ints("s", 1, 1, 2000, 2000) + ints("t", 1, 1, 1000, 1000) + "a = Expand(q, s) b = Expand(q, t) r = Conv(a, b)",
    )
    yield (
        "a window of three axes",
        ints("s", 1, 4, 200, 200, 100)
        + ints("t", 4, 4, 30, 30, 30)
        + "a = Expand(q, s) b = Expand(q, t) r = Conv(a, b)",
    )
    yield "a window turned round", ints("s", 1, 1, 500, 500) + "a = Expand(q, s) r = ConvTranspose(a, a)"
    yield (
        "a deformed window",
        ints("s", 1, 16, 300, 300)
        + ints("t", 64, 16, 15, 15)
        + ints("u", 1, 450, 286, 286)
        + "a = Expand(q, s) b = Expand(q, t) o = Expand(q, u) r = DeformConv(a, b, o)",
    )
    yield "a large pool", ints("s", 1, 1, 3000, 3000) + "a = Expand(q, s) r = MaxPool<kernel_shape = [1500, 1500]>(a)"
    yield (
        "a large pool of powers",
        ints("s", 1, 1, 2000, 2000) + "a = Expand(q, s) r = LpPool<kernel_shape = [1000, 1000]>(a)",
    )
    yield (
        "blocks put back",
        ints("s", 1, 1_000_000, 9)
        + ints("i", 1002, 1002)
        + ints("b", 1000, 1000)
        + "a = Expand(q, s) r = Col2Im(a, i, b)",
    )
    yield (
        "regions read finely",
        ints("s", 1, 1, 64, 64)
        + "a = Expand(q, s) b = Constant<value = float[1,4] {0, 0, 60, 60}>() i = Constant<value = int64[1] {0}>() r = RoiAlign<sampling_ratio = 10000000>(a, b, i)",
    )
    yield (
        "a region of a billion",
        ints("s", 1, 1, 64, 64)
        + "a = Expand(q, s) b = Constant<value = float[1,4] {0, 0, 1e9, 1e9}>() i = Constant<value = int64[1] {0}>() r = RoiAlign<output_height = 7, output_width = 7>(a, b, i)",
    )
    yield (
        "regions of many cells",
        ints("s", 1, 1, 64, 64)
        + "a = Expand(q, s) b = Constant<value = float[1,5] {0, 0, 0, 60, 60}>() r = MaxRoiPool<pooled_shape = [20000, 20000]>(a, b)",
    )
    yield (
        "boxes that do not overlap",
        ints("s", 1, 20_000, 4)
        + ints("t", 1, 50, 20_000)
        + "a = Expand(q, s) b = Expand(q, t) m = Constant<value = int64 {100000}>() i = NonMaxSuppression(a, b, m) r = Cast<to = 1>(i)",
    )
    yield "the determinant of a view", ints("s", 8000, 8000) + "e = Expand(q, s) r = Det(e)"


def _loops() -> Iterator[tuple[str, str]]:
    body = "<body = b (int64 i, bool c, float v) => (bool d, float w) { d = Identity(c) w = %s }>"
    yield "2^63 times", FORWARD % (2**63 - 1) + f"r = Loop(m, go, q) {body % 'Neg(v)'}"
    inner = (
        body.replace("b (", "b2 (")
        .replace("int64 i, bool c, float v", "int64 i2, bool c2, float v2")
        .replace("bool d, float w", "bool d2, float w2")
    )
    inner = inner.replace("d = Identity(c)", "d2 = Identity(c2)").replace("w = ", "w2 = ") % "Neg(v2)"
    yield "a loop in a loop", FORWARD % 20_000 + f"r = Loop(m, go, q) {body % f'Loop(m, c, v) {inner}'}"
    yield (
        "two million steps",
        ints("s", 2_000_000, 1)
        + "a = Expand(q, s) z = Constant<value = float[1] {0}>() r = Scan<num_scan_inputs = 1, body = b (float[1] u, float[1] v) => (float[1] w) { w = Add(u, v) }>(z, a)",
    )
    yield (
        "a long memory",
        ints("s", 2_000_000, 1, 1)
        + ints("t", 1, 4, 1)
        + "a = Expand(q, s) b = Expand(q, t) r = LSTM<hidden_size = 1>(a, b, b)",
    )
    yield (
        "words of a grammar",
        ints("s", 1, 100_000)
        + 'e = ConstantOfShape<value = int64[1] {1}>(s) r = TfIdfVectorizer<max_gram_length = 1000, min_gram_length = 1, max_skip_count = 100000, mode = "TF", ngram_counts = [0], ngram_indexes = [0], pool_int64s = [1]>(e)',
    )
    yield (
        "two hundred functions of thirty million",
        ints("s", 30_000_000)
        + "e = Expand(q, s) a0 = Erf(e) "
        + "".join(f"a{k + 1} = Erf(a{k}) " for k in range(200))
        + "r = ReduceSum<keepdims = 0>(a200)",
    )


def cases() -> Iterator[Case]:
    for name, body in (*_views(), *_copies(), *_products(), *_loops()):
        whole = f"g (float[2] x) => (y) {{ q = ReduceSum<keepdims = 0>(x) {body} f0 = Shape(r) y = Cast<to = 1>(f0) }}"
        yield Case(f"work/{name}", text(whole.replace("(y)", "(float[N] y)")), FINE, BUDGET)
    shown = ints("s", 400_000_000) + "e = Expand(x, s) y = Identity(e)"
    yield Case(
        "work/an output that shows one number", text(f"g (float[1] x) => (float[N] y) {{ {shown} }}"), FINE, BUDGET
    )
    swap = (
        FORWARD % 10**12
        + "p = Neg(x) y, z = Loop(m, go, x, p) <body = b (int64 i, bool c, float[2] v, float[2] u) => (bool d, float[2] u, float[2] v) { d = Identity(c) }>"
    )
    yield Case(
        "work/a loop that only swaps", text(f"g (float[2] x) => (float[2] y, float[2] z) {{ {swap} }}"), CLEAN, BUDGET
    )
    counted = (
        FORWARD % 20_000
        + "y = Loop(m, go, x) <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w) { d = Identity(c) w = Neg(v) }>"
    )
    yield Case("work/twenty thousand steps are fine", text(f"g (float[2] x) => (float[2] y) {{ {counted} }}"))
    many = scalar("k", 3) + ints("s", 100_000) + "e = Expand(k, s) f = Cast<to = 1>(e) y = ReduceSum(f)"
    yield Case(
        "work/a view of little is fine",
        text(f"g (float[2] x) => (float[N] y, float[2] z) {{ {many} z = Neg(x) }}"),
        CLEAN,
    )
    letters = "abcdefghijklmnopqrstuvwxyz"
    outer = f'y = Einsum<equation = "{",".join(letters)}->{letters}">({", ".join(["x"] * 26)})'
    yield Case("work/a product of 26 letters", text(f"g (float[2] x) => (float[N] y) {{ {outer} }}"), FINE, BUDGET)
