"""Shapes of ops that move elements about: Reshape, Transpose, Slice, Gather, Concat and their kin."""

from __future__ import annotations

from passes.dims import Dim, Expr, Shape, divide, floordiv, fresh, lower, product, smaller, unknowns
from passes.shapes.elementwise import broadcast
from passes.shapes.registry import Call, Shapes, shape_of, value_of_fact


@shape_of("Reshape")
def reshape(call: Call) -> Shapes:
    x, target = call.shape(0), call.ints(1, "shape")
    if target is None:
        wanted = call.shape(1)
        return unknowns(wanted[0]) if wanted is not None and len(wanted) == 1 else None
    return reshaped(x, target, bool(call.attr("allowzero", 0)))


def reshaped(x: Shape | None, target: list[Dim], allowzero: bool = False) -> Shape:
    """The shape Reshape makes of `x` for a target whose elements may be expressions.

    An expression that may be 0 or -1 could mean something else than its value, so only one that is known not to be negative counts as a
    size; where it is 0 the copied size is read from `x`, which for a size taken from `x`'s own shape is the same.
    """
    out: list[Dim] = []
    wildcard = -1
    for i, d in enumerate(target):
        if isinstance(d, int) and d == -1:
            wildcard = i
            out.append(1)
        elif isinstance(d, int) and d == 0 and not allowzero:
            out.append(x[i] if x is not None and i < len(x) else fresh())
        elif isinstance(d, Expr) and (lower(d) is None or lower(d) < 0):  # type: ignore[operator]
            out.append(fresh())
        else:
            out.append(d)
    if wildcard < 0:
        return tuple(out)
    rest = product(d for i, d in enumerate(out) if i != wildcard)
    out[wildcard] = _quotient(x, rest)
    return tuple(out)


def _quotient(x: Shape | None, rest: Dim) -> Dim:
    if x is None:
        return fresh()
    total = product(x)
    if isinstance(total, int) and isinstance(rest, int):
        return total // rest if rest else fresh()
    exact = divide(total, rest)
    if exact is not None and rest != 0:
        return exact
    return floordiv(total, rest) if rest != 0 else fresh()


@shape_of("Flatten")
def flatten(call: Call) -> Shapes:
    x = call.shape(0)
    if x is None:
        return (fresh(), fresh())
    axis = call.attr("axis", 1)
    axis = axis + len(x) if axis < 0 else axis
    return (product(x[:axis]), product(x[axis:]))


@shape_of("Transpose")
def transpose(call: Call) -> Shapes:
    x = call.shape(0)
    if x is None:
        return None
    perm = call.attr("perm")
    return tuple(x[p] for p in (perm if perm is not None else range(len(x) - 1, -1, -1)))


@shape_of("Squeeze")
def squeeze(call: Call) -> Shapes:
    x, axes = call.shape(0), call.known_ints(1, "axes")
    if x is None:
        return None
    if axes is None:
        if call.has(1) or not all(isinstance(d, int) for d in x):
            return None
        return tuple(d for d in x if d != 1)
    gone = {a % len(x) for a in axes}
    return tuple(d for i, d in enumerate(x) if i not in gone)


@shape_of("Unsqueeze")
def unsqueeze(call: Call) -> Shapes:
    x, axes = call.shape(0), call.known_ints(1, "axes")
    if x is None or axes is None:
        return None
    rank = len(x) + len(axes)
    new, left = {a % rank for a in axes}, iter(x)
    return tuple(1 if i in new else next(left) for i in range(rank))


@shape_of("Concat")
def concat(call: Call) -> Shapes:
    known = [f.shape for f in call.inputs if f is not None and f.shape is not None]
    if not known:
        return None
    rank = len(known[0])
    axis = call.attr("axis", 1) % rank if rank else 0
    out: list[Dim] = []
    for i in range(rank):
        sizes = [s[i] for s in known]
        if i == axis:
            total: Dim = 0
            for d in sizes:
                total = total + d
            out.append(total if len(known) == len(call.inputs) else fresh())
        else:
            # all inputs agree here or the run stops, so the best known size is everyone's
            out.append(next((d for d in sizes if isinstance(d, int)), sizes[0]))
    return tuple(out)


@shape_of("Split")
def split(call: Call) -> Shapes:
    x, sizes = call.shape(0), call.ints(1, "split")
    if x is None:
        return None
    axis, n = call.attr("axis", 0) % len(x), call.n_outputs
    if sizes is None:
        if call.has(1):
            sizes = [fresh() for _ in range(n)]
        else:
            piece: Dim = -floordiv(-x[axis], n)
            sizes = [piece] * (n - 1) + [x[axis] - piece * (n - 1)]
    return [(*x[:axis], s, *x[axis + 1 :]) for s in sizes]


def slice_bounds(call: Call) -> tuple[list[Dim], list[Dim], list[int], list[int]] | None:
    """starts, ends, axes and steps of a Slice, from attributes (opset 1) or inputs."""
    starts, ends = call.ints(1, "starts"), call.ints(2, "ends")
    if starts is None or ends is None:
        return None
    axes = call.known_ints(3, "axes")
    if axes is None:
        if call.has(3):
            return None
        axes = list(range(len(starts)))
    steps = call.known_ints(4) if call.has(4) else [1] * len(starts)
    return None if steps is None else (starts, ends, axes, steps)


def sliced(size: Dim, start: Dim, end: Dim, step: int) -> Dim:
    """How many elements a Slice of one axis keeps."""
    if isinstance(size, int) and isinstance(start, int) and isinstance(end, int):
        return len(range(*slice(start, end if step > 0 or end >= -size else None, step).indices(size)))
    if step != 1:
        return fresh() if not (step == -1 and start == -1 and isinstance(end, int) and end < -(2**31)) else size
    first = _clamped(size, start)
    last = _clamped(size, end)
    if first is None or last is None:
        return fresh()
    count = last - first
    low = lower(count)
    return count if low is not None and low >= 0 else fresh()


def _clamped(size: Dim, index: Dim) -> Dim | None:
    """Where a Slice bound lands in an axis of `size`, for step 1."""
    if isinstance(index, int):
        if index < 0:
            moved = size + index
            low = lower(moved)
            return moved if low is not None and low >= 0 else None
        if index >= 2**31 - 1:
            return size
        low = lower(size)
        return index if low is not None and index <= low else smaller(size, index)
    low = lower(index)
    return smaller(size, index) if low is not None and low >= 0 else None


@shape_of("Slice")
def slice_(call: Call) -> Shapes:
    x, bounds = call.shape(0), slice_bounds(call)
    if x is None:
        return None
    if bounds is None:
        axes = call.known_ints(3, "axes")
        touched = range(len(x)) if axes is None else {a % len(x) for a in axes}
        return tuple(fresh() if i in touched else d for i, d in enumerate(x))
    out = list(x)
    for start, end, axis, step in zip(*bounds, strict=True):
        out[axis] = sliced(out[axis], start, end, step)
    return tuple(out)


@shape_of("Gather")
def gather(call: Call) -> Shapes:
    x, indices = call.shape(0), call.shape(1)
    if x is None or indices is None or not x:
        return None
    axis = call.attr("axis", 0) % len(x)
    return x[:axis] + indices + x[axis + 1 :]


@shape_of("GatherElements")
def gather_elements(call: Call) -> Shapes:
    return call.shape(1)


@shape_of("GatherND")
def gather_nd(call: Call) -> Shapes:
    x, indices, batch = call.shape(0), call.shape(1), call.attr("batch_dims", 0)
    if x is None or indices is None or not indices or not isinstance(indices[-1], int):
        return None
    return indices[:-1] + x[batch + indices[-1] :]


@shape_of("Expand")
def expand(call: Call) -> Shapes:
    x, target = call.shape(0), call.ints(1)
    if x is None:
        return None
    if target is None:
        wanted = call.shape(1)
        open_target = unknowns(wanted[0]) if wanted is not None and len(wanted) == 1 else None
        return None if open_target is None else broadcast([x, open_target])
    return broadcast([x, tuple(target)])


@shape_of("Tile")
def tile(call: Call) -> Shapes:
    x, repeats = call.shape(0), call.ints(1)
    if x is None or call.opset < 6:
        return None
    if repeats is None:
        return tuple(fresh() for _ in x)
    return tuple(d * r for d, r in zip(x, repeats, strict=True))


@shape_of("Pad")
def pad(call: Call) -> Shapes:
    x, pads = call.shape(0), call.ints(1, "pads" if "pads" in call.attrs else "paddings")
    if x is None:
        return None
    axes = call.known_ints(3) if call.has(3) else list(range(len(x)))
    if pads is None or axes is None:
        return tuple(fresh() for _ in x)
    out, n = list(x), len(axes)
    for i, axis in enumerate(axes):
        out[axis] = out[axis] + pads[i] + pads[n + i]
    return tuple(out)


@shape_of("Resize", "Upsample")
def resize(call: Call) -> Shapes:
    x = call.shape(0)
    if x is None:
        return None
    scales_at = 1 if call.op == "Upsample" or call.opset < 11 else 2
    sizes = call.ints(3) if scales_at == 2 else None
    axes = call.attr("axes") or list(range(len(x)))
    policy = call.attr("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch" or call.attr("coordinate_transformation_mode") == "tf_crop_and_resize":
        return tuple(fresh() if i in {a % len(x) for a in axes} else d for i, d in enumerate(x))
    out = list(x)
    if sizes:
        for axis, size in zip(axes, sizes, strict=True):
            out[axis] = size
        return tuple(out)
    fact = call.fact(scales_at)
    scales = fact.array.tolist() if fact is not None and fact.array is not None else None
    if scales is None and fact is not None:
        whole = value_of_fact(fact)
        scales = None if whole is None else list(whole)
    if scales is None:
        scales = call.attr("scales")
    if not scales:
        return tuple(fresh() if i in {a % len(x) for a in axes} else d for i, d in enumerate(x))
    for axis, scale in zip(axes, scales, strict=True):
        d = out[axis]
        if isinstance(scale, Expr):
            out[axis] = fresh()
        elif float(scale).is_integer():
            out[axis] = d * int(scale)
        elif (1 / scale).is_integer():
            out[axis] = floordiv(d, int(1 / scale))
        else:
            out[axis] = _scaled(d, float(scale))
    return tuple(out)


def _scaled(d: Dim, scale: float) -> Dim:
    """floor(d * scale), unless that is so near a whole number that runtimes may round either way."""
    if not isinstance(d, int):
        return fresh()
    exact = d * scale
    dyadic = (scale * 1024).is_integer()
    return int(exact) if dyadic or abs(exact - round(exact)) > 1e-4 else fresh()


@shape_of("CenterCropPad")
def center_crop_pad(call: Call) -> Shapes:
    x, sizes = call.shape(0), call.ints(1)
    if x is None or sizes is None:
        return None
    out = list(x)
    for axis, size in zip(call.attr("axes") or range(len(x)), sizes, strict=True):
        out[axis] = size
    return tuple(out)


@shape_of("Compress")
def compress(call: Call) -> Shapes:
    x, axis = call.shape(0), call.attr("axis")
    if axis is None:
        return (fresh(),)
    return None if x is None else tuple(fresh() if i == axis % len(x) else d for i, d in enumerate(x))


@shape_of("NonZero")
def non_zero(call: Call) -> Shapes:
    x = call.shape(0)
    return (fresh(), fresh()) if x is None else (len(x), fresh())


@shape_of("Unique")
def unique(call: Call) -> Shapes:
    x, axis, n = call.shape(0), call.attr("axis"), fresh()
    if axis is None:
        first: Shape | None = (n,)
    else:
        first = None if x is None else tuple(n if i == axis % len(x) else d for i, d in enumerate(x))
    return [first, (n,), (fresh(),), (n,)][: call.n_outputs]


@shape_of("Einsum")
def einsum(call: Call) -> Shapes:
    text = call.attr("equation", "")
    text = (text.decode() if isinstance(text, bytes) else text).replace(" ", "")
    if "." in text:
        return None
    terms, _, out = text.partition("->")
    sizes: dict[str, Dim] = {}
    for letters, fact in zip(terms.split(","), call.inputs, strict=False):
        if fact is None or fact.shape is None or len(fact.shape) != len(letters):
            return None
        for letter, d in zip(letters, fact.shape, strict=True):
            if not isinstance(sizes.get(letter), int) or sizes[letter] == 1:
                sizes[letter] = d
    if "->" not in text:
        out = "".join(sorted(c for c in sizes if terms.count(c) == 1))
    return tuple(sizes[c] for c in out)
