"""The message row, which becomes the query field while one filters."""

from __future__ import annotations

from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.message import Message

from tui.line import Line
from tui.widgets.field import Field
from tui.widgets.frame import Bar


class FilterBar(Container):
    """Shows messages; `open(query)` lets one type a query and sends `Changed` at every key, `Closed` at the end."""

    DEFAULT_CSS = """
    FilterBar { height: 1; layout: horizontal; background: $background; }
    FilterBar Field { width: 50%; display: none; }
    FilterBar.open Field { display: block; }
    FilterBar Bar { width: 1fr; }
    """

    class Changed(Message):
        """Another key was typed."""

        def __init__(self, query: str) -> None:
            super().__init__()
            self.query_text = query

    class Closed(Message):
        """enter keeps the query, esc clears it."""

        def __init__(self, query: str, kept: bool) -> None:
            super().__init__()
            self.query_text, self.kept = query, kept

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.entry, self.bar = (
            Field(placeholder="words, op:Conv, name:~regex, attr.group>1, time>2% …", select_on_focus=False),
            Bar(),
        )

    def compose(self) -> ComposeResult:
        yield self.entry
        yield self.bar

    def say(self, left: Line, right: Line = ()) -> None:
        """A sentence, and a figure at the right."""
        self.bar.show(left, right)

    def figure(self, text: str) -> None:
        """How many hits the query has, beside it."""
        if self.is_open:
            self.bar.show([], [(text + " ", "dim")])

    def open(self, query: str) -> None:
        """Start typing."""
        self.add_class("open")
        self.entry.value = query
        self.entry.cursor_position = len(query)
        self.entry.focus()

    def close(self) -> None:
        """Back to messages."""
        self.remove_class("open")

    @property
    def is_open(self) -> bool:
        return self.has_class("open")

    def on_input_changed(self, event: Field.Changed) -> None:
        event.stop()
        if self.is_open:
            self.post_message(self.Changed(event.value))

    def on_input_submitted(self, event: Field.Submitted) -> None:
        event.stop()
        self.close()
        self.post_message(self.Closed(event.value, kept=True))

    def on_key(self, event: events.Key) -> None:
        """esc clears; ↓ keeps the query and goes back to the list."""
        if self.is_open and event.key in ("escape", "down"):
            event.stop()
            event.prevent_default()
            self.close()
            self.post_message(self.Closed(self.entry.value, kept=event.key == "down"))
