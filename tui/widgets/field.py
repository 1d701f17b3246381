"""`Field`: one line to type in, without a frame, so that one row of the screen is enough for it."""

from __future__ import annotations

from textual.widgets import Input


class Field(Input):
    """An `Input` whose frame stays away when it has the focus: the frame would take the row that holds the text."""

    DEFAULT_CSS = """
    Field { border: none; height: 1; padding: 0; background: $panel; }
    Field:focus { border: none; }
    """
