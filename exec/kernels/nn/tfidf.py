"""Counting n-grams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from exec.arrays import Array
from exec.kernels.registry import kernel


@kernel("TfIdfVectorizer", since=9)
def tf_idf_vectorizer(
    x: Array,
    /,
    *,
    max_gram_length: int,
    max_skip_count: int,
    min_gram_length: int,
    mode: Literal["TF", "IDF", "TFIDF"],
    ngram_counts: Sequence[int],
    ngram_indexes: Sequence[int],
    pool_int64s: Sequence[int] | None = None,
    pool_strings: Sequence[str] | None = None,
    weights: Sequence[float] | None = None,
) -> Array:
    """How often each n-gram of a pool occurs, up to `max_skip_count` items left out between neighbours.

    Shapes  x (C) or (N, C); the result (columns) or (N, columns) in float32.
    Spec    ONNX TfIdfVectorizer-9. One-grams are counted once, whatever the skips.
    """
    rows = np.atleast_2d(x)
    pool: Sequence[str] | Sequence[int] = pool_strings if pool_strings is not None else pool_int64s or ()
    numbers, coded = _coded(pool, rows)
    columns = max(ngram_indexes, default=-1) + 1
    counts = np.zeros((len(rows), columns), np.float32)
    index = np.asarray(ngram_indexes, np.int64)
    first = 0
    for n, start in enumerate(ngram_counts, 1):
        end = ngram_counts[n] if n < len(ngram_counts) else len(pool)
        grams = numbers[start:end].reshape(-1, n)
        if min_gram_length <= n <= max_gram_length and len(grams):
            for skip in range(1 if n == 1 else max_skip_count + 1):
                _count(coded, grams, skip + 1, index[first : first + len(grams)], counts)
        first += len(grams)
    if mode != "TF":
        factor = np.ones(columns, np.float32)
        factor[index] = 1 if weights is None else np.asarray(weights, np.float32)
        counts = (np.minimum(counts, 1) if mode == "IDF" else counts) * factor
    return counts if x.ndim > 1 else counts[0]


def _coded(pool: Sequence[str] | Sequence[int], rows: Array) -> tuple[Array, Array]:
    """Pool and rows as small numbers; an item that is in no n-gram is −1."""
    known = {item: k for k, item in enumerate(dict.fromkeys(pool))}
    numbers = np.asarray([known[item] for item in pool], np.int64)
    coded = np.asarray([known.get(item, -1) for item in rows.reshape(-1).tolist()], np.int64)
    return numbers, coded.reshape(rows.shape)


def _count(coded: Array, grams: Array, step: int, index: Array, counts: Array) -> None:
    """Add to `counts` where windows of items `step` apart equal one of `grams`."""
    n = grams.shape[1]
    windows = coded.shape[1] - (n - 1) * step
    if windows < 1:
        return
    found = np.stack([coded[:, k * step : k * step + windows] for k in range(n)], axis=-1)
    unique, inverse = np.unique(np.concatenate((grams, found.reshape(-1, n))), axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    column = np.full(len(unique), -1, np.int64)
    column[inverse[: len(grams)]] = index
    place = column[inverse[len(grams) :]].reshape(found.shape[:2])
    row = np.broadcast_to(np.arange(len(coded))[:, None], place.shape)
    hit = place >= 0
    np.add.at(counts, (row[hit], place[hit]), 1)
