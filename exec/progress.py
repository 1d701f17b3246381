"""How long work reports itself and how it is stopped."""

from __future__ import annotations

from collections.abc import Callable

from exec.errors import Cancelled

Progress = Callable[[int, int, str], None]
"""(done, total, text): called often and cheaply; total is 0 while unknown."""

Cancel = Callable[[], bool]
"""True once the user wants to stop."""


def check(cancel: Cancel | None, what: str) -> None:
    """Raise `Cancelled` if the user asked to stop; `what` names the work for the message."""
    if cancel is not None and cancel():
        raise Cancelled(f"{what} was stopped")


def report(progress: Progress | None, done: int, total: int, text: str) -> None:
    """Tell the listener, if there is one."""
    if progress is not None:
        progress(done, total, text)
