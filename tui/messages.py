"""What the bridge and the screens tell the app."""

from __future__ import annotations

from collections.abc import Callable

from textual.message import Message

from exec.errors import BenchError


class JobStarted(Message):
    """Work began; quiet work shows nothing."""

    def __init__(self, kind: str, text: str, quiet: bool) -> None:
        super().__init__()
        self.kind, self.text, self.quiet = kind, text, quiet


class JobProgress(Message):
    """n of N; total is 0 while unknown."""

    def __init__(self, kind: str, done: int, total: int, text: str) -> None:
        super().__init__()
        self.kind, self.done, self.total, self.text = kind, done, total, text


class JobSettled(Message):
    """A job's thread is done: what follows runs on the app's own thread."""

    def __init__(self, then: Callable[[], None]) -> None:
        super().__init__()
        self.then = then


class JobEnded(Message):
    """Work is over: finished, or stopped on request."""

    def __init__(self, kind: str, text: str, stopped: bool, quiet: bool, done: int = 0, total: int = 0) -> None:
        super().__init__()
        self.kind, self.text, self.stopped, self.quiet = kind, text, stopped, quiet
        self.done, self.total = done, total


class JobFailed(Message):
    """Work ended with an error of ours."""

    def __init__(self, kind: str, error: BenchError) -> None:
        super().__init__()
        self.kind, self.error = kind, error
