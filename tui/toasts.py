"""What came out well or went astray, in a corner for a while: never over the row one is at, once for what happens again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tui import glyphs
from tui.widgets.rows import Rows
from workbench.render.text import display_name

if TYPE_CHECKING:
    from tui.app import WorkbenchApp

SUCCESS_S, WARNING_S = 5.0, 10.0
_ABOVE = "-toasts-above"


class Toasts:
    """`done(text)` for 5 s, `warn(text)` for 10 s; errors are dialogs, which stay until they are seen.

    shown  the last text of each that still stands: how often it was said, and until when it stands
    """

    def __init__(self, app: WorkbenchApp) -> None:
        self.app = app
        self.shown: dict[str, tuple[int, float]] = {}

    def done(self, text: str) -> None:
        """It is done, and what undoes it."""
        self._show(f"✓ {text}", SUCCESS_S, warning=False)

    def warn(self, text: str) -> None:
        """It is done, but not as one would think."""
        self._show(f"▲ {text}", WARNING_S, warning=True)

    def clear(self) -> None:
        """Nothing stands any more."""
        self.shown.clear()
        self.app.clear_notifications()
        for screen in self.app.screen_stack:
            screen.query("Toast").remove()

    def _show(self, text: str, seconds: float, *, warning: bool) -> None:
        now = time.monotonic()
        self.shown = {t: (n, until) for t, (n, until) in self.shown.items() if until > now}
        times = self.shown.get(text, (0, 0.0))[0] + 1
        if times > 1:
            self.app.call_later(self.app.clear_notifications)  # after the one that says it already has come
        self.shown[text] = (times, now + seconds)
        said = display_name(text, 200) + (f"  ×{times}" if times > 1 else "")
        self.place()
        self.app.notify(
            glyphs.plain(said) if self.app.ascii_only else said,
            severity="warning" if warning else "information",
            timeout=seconds,
            markup=False,
        )

    def place(self) -> None:
        """In the corner that is further from the cursor."""
        if self.shown:
            self.app.screen.set_class(self._cursor_is_low(), _ABOVE)

    def _cursor_is_low(self) -> bool:
        focused: Any = self.app.focused
        if not isinstance(focused, Rows):
            return False
        return focused.region.y + focused.cursor - focused.scroll_offset.y > self.app.size.height // 2
