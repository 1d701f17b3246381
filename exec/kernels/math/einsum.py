"""Einsum as transposes and batched matrix products, two operands at a time.

numpy's own einsum leaves BLAS as soon as there is a batch label: six times slower on attention's products.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from exec.arrays import Array
from exec.budget import element_count
from exec.errors import ExecutionError
from exec.kernels.growth import ask
from exec.kernels.math.matmul import matmul, plain_matmul
from exec.kernels.registry import kernel
from exec.kernels.widen import widened

Labels = tuple[str, ...]
Product = Callable[[Array, Array], Array]


@kernel("Einsum", since=12, variant="plain")
@widened
def plain_einsum(*xs: Array, equation: str) -> Array:
    """Einsum with one order of additions."""
    return _evaluated(xs, equation, plain_matmul)


@kernel("Einsum", since=12)
@widened
def einsum(*xs: Array, equation: str) -> Array:
    """Products of the inputs, summed over the labels that the output does not have.

    Spec    ONNX Einsum-12: letters, one ellipsis per term, spaces ignored; without "->" the output has the labels that occur
            once, in alphabetical order, after the ellipsis.
    """
    return _evaluated(xs, equation, matmul)


def _evaluated(xs: tuple[Array, ...], equation: str, product: Product) -> Array:
    terms, wanted = parse(equation, tuple(x.ndim for x in xs))
    sizes: dict[str, int] = {}
    for x, labels in zip(xs, terms, strict=True):
        for label, dim in zip(labels, x.shape, strict=True):
            if sizes.setdefault(label, dim) != dim and 1 not in (dim, sizes[label]):
                raise ExecutionError(
                    f"label '{label}' of '{equation}' is {sizes[label]} in one input and {dim} in another"
                )
            sizes[label] = max(sizes[label], dim) if dim and sizes[label] else 0
    operands = [_squeezed(x, labels, sizes) for x, labels in zip(xs, terms, strict=True)]
    while len(operands) > 1:
        (a, left), (b, right), *rest = operands
        kept = {*wanted, *(label for _, labels in rest for label in labels)}
        one, other = _single(a, left, kept | set(right)), _single(b, right, kept | set(left))
        operands = [_contracted(one, other, kept, product), *rest]
    x, labels = _single(*operands[0], set(wanted))
    missing = [label for label in wanted if label not in labels]
    y = x.reshape((1,) * len(missing) + x.shape).transpose([(*missing, *labels).index(label) for label in wanted])
    return np.broadcast_to(y, tuple(sizes[label] for label in wanted)) if missing else y


@lru_cache(maxsize=256)
def parse(equation: str, ranks: tuple[int, ...]) -> tuple[tuple[Labels, ...], Labels]:
    """The labels of each input and of the output; the axes of an ellipsis are labelled by their place from the back."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    inputs = left.split(",")
    if len(inputs) != len(ranks):
        raise ExecutionError(f"the equation '{equation}' has {len(inputs)} terms for {len(ranks)} inputs")
    terms = tuple(_labels(term, rank) for term, rank in zip(inputs, ranks, strict=True))
    counts = Counter(label for labels in terms for label in labels)
    dots = tuple(sorted({label for label in counts if len(label) > 1}, reverse=True))
    if arrow:
        return terms, tuple(part for label in _pieces(right) for part in (dots if label == "..." else (label,)))
    return terms, dots + tuple(sorted(label for label, count in counts.items() if len(label) == 1 and count == 1))


def _pieces(term: str) -> list[str]:
    before, dots, after = term.partition("...")
    return [*before, dots, *after] if dots else list(before)


def _labels(term: str, rank: int) -> Labels:
    pieces = _pieces(term)
    hidden = rank - len(pieces) + ("..." in pieces)
    if hidden < 0 or (hidden and "..." not in pieces):
        raise ExecutionError(f"the term '{term}' does not fit an input of rank {rank}")
    # two digits keep the order of the names the order of the axes
    dots = [f".{place:02d}" for place in range(hidden, 0, -1)]
    return tuple(part for piece in pieces for part in (dots if piece == "..." else [piece]))


def _squeezed(x: Array, labels: Labels, sizes: dict[str, int]) -> tuple[Array, Labels]:
    """Without the axes of length 1 that are broadcast against a longer one elsewhere."""
    stretched = tuple(k for k, label in enumerate(labels) if x.shape[k] != sizes[label])
    return x.squeeze(stretched), tuple(label for k, label in enumerate(labels) if k not in stretched)


def _single(x: Array, labels: Labels, kept: set[str]) -> tuple[Array, Labels]:
    """One operand: diagonals of repeated labels taken, labels nobody else wants summed."""
    distinct = tuple(dict.fromkeys(labels))
    if len(distinct) < len(labels):
        numbers = [distinct.index(label) for label in labels]
        x, labels = np.einsum(x, numbers, list(range(len(distinct)))), distinct
    gone = tuple(k for k, label in enumerate(labels) if label not in kept)
    if not gone:
        return x, labels
    return np.asarray(np.sum(x, axis=gone, dtype=x.dtype)), tuple(label for label in labels if label in kept)


def _contracted(
    one: tuple[Array, Labels], other: tuple[Array, Labels], kept: set[str], product: Product
) -> tuple[Array, Labels]:
    """The product of two operands, summed over the labels they share and nobody else wants."""
    (a, left), (b, right) = one, other
    batch = [label for label in left if label in right and label in kept]
    summed = [label for label in left if label in right and label not in kept]
    rows = [label for label in left if label not in right]
    columns = [label for label in right if label not in left]
    sizes = {**dict(zip(left, a.shape, strict=True)), **dict(zip(right, b.shape, strict=True))}

    def arranged(x: Array, labels: Labels, *groups: list[str]) -> Array:
        flat = [int(np.prod([sizes[label] for label in group], dtype=np.int64)) for group in groups]
        return x.transpose([labels.index(label) for group in groups for label in group]).reshape(flat)

    ask(element_count(sizes[label] for label in (*batch, *rows, *columns)) * int(max(a.itemsize, b.itemsize)))
    y = product(arranged(a, left, batch, rows, summed), arranged(b, right, batch, summed, columns))
    order = (*batch, *rows, *columns)
    return y.reshape([sizes[label] for label in order]), order
