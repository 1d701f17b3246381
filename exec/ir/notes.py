"""What is odd about a file that can be opened all the same."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Note:
    """One warning.

    code     a short stable word: "dangling-value", "duplicate-name", "newer-opset"
    where    the element: "value 'x'", "node 'Conv_3'", "file"
    message  one sentence
    """

    code: str
    where: str
    message: str
