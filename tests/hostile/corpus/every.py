"""Hostile and odd files by class, made anew for each test run."""

from __future__ import annotations

from corpus import external, folding, functions, graphs, names, tensors, types, wires, work
from corpus.case import Case

ALL: tuple[Case, ...] = tuple(
    case for part in (wires, external, tensors, types, graphs, functions, folding, work, names) for case in part.cases()
)
