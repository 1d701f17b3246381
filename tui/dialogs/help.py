"""`?`: every key, the focused screen's own first, made from the registry."""

from __future__ import annotations

from textual.binding import Binding

from tui.actions import ACTIONS, BY_ID, shown_key
from tui.dialogs.dialog import Dialog
from tui.line import Line, fit
from tui.views.view import View


class HelpDialog(Dialog[None]):
    """All keys; those that cannot be used now say why."""

    DEFAULT_CSS = "HelpDialog > Vertical { width: 100; }"
    BINDINGS = [
        Binding("q,question_mark,enter", "leave", show=False),
        Binding("down,j", "scroll(1)", show=False),
        Binding("up,k", "scroll(-1)", show=False),
    ]
    hint = "esc closes   j k scroll"

    def __init__(self, view: View) -> None:
        super().__init__()
        self.view = view
        self.title_text = f"Keys of {view.TITLE}"

    def lines(self, width: int) -> list[Line]:
        own = [BY_ID[a] for a in self.view.KEYS]
        purpose = (self.view.__doc__ or "").strip().partition("\n")[0]
        out: list[Line] = [[(purpose, "dim")]]
        groups = {"here": own}
        for action in ACTIONS:
            if action not in own:
                groups.setdefault(action.group, []).append(action)
        for name, actions in groups.items():
            out += [[], [(name, "focus")]]
            for action in actions:
                keys = " ".join(shown_key(k) for k in action.keys.split(","))
                reason = self.view.why_not(action.id) or self.view.owb.why_not(action.id)
                line: list[tuple[str, str]] = [
                    (fit(keys, 16), "focus" if not reason else "line"),
                    (fit(action.text, 30), "fg" if not reason else "dim"),
                ]
                if reason:
                    line.append((reason, "dim"))
                out.append(line)
        return out

    def action_scroll(self, step: int) -> None:
        """Scroll by lines."""
        self.text.scroll_relative(y=step * 3, animate=False)
