"""What every engine can do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from exec.arrays import Value
from exec.progress import Cancel, Progress
from exec.timing import Profile


class Engine(Protocol):
    """A model that can be run, looked into and timed.

    name   "embedded", "onnxruntime" or "reference"
    model  what it was opened with
    """

    name: str
    model: Any

    def run(self, feeds: Mapping[str, Value], outputs: Sequence[str] | None = None) -> dict[str, Value]:
        """The wanted values by name: the model's outputs, or any value named in `outputs`."""

    def values(
        self, feeds: Mapping[str, Value], names: Sequence[str], budget_bytes: int | None = None
    ) -> Iterator[tuple[str, Value]]:
        """The named values of a run in the order they are made; no more than about `budget_bytes` are held at a time."""

    def measure(
        self,
        feeds: Mapping[str, Value],
        runs: int,
        *,
        seconds: float | None = None,
        progress: Progress | None = None,
        cancel: Cancel | None = None,
    ) -> Profile:
        """Time every node."""
