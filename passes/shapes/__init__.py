"""Symbolic inference of types, shapes and shape arithmetic."""

from passes.shapes.facts import Facts, known_elements
from passes.shapes.registry import Fact

__all__ = ["Fact", "Facts", "known_elements"]
