"""`Y`: what stands under the cursor as a name, a command line, a line of Python or JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui.line import fit

if TYPE_CHECKING:
    from tui.app import WorkbenchApp
    from tui.views.view import View

Form = tuple[str, str, str, Callable[[], str]]
"""(letter, what it is, how it begins, the text itself)."""


def forms(view: View) -> list[Form]:
    """The forms there are for what is under the cursor; JSON is made only when it is chosen."""
    texts = (
        ("n", "name", view.copy_text()),
        ("c", "command line", view.copy_command()),
        ("p", "Python", view.copy_python()),
    )
    out: list[Form] = [(letter, what, _first(text), lambda text=text: text) for letter, what, text in texts if text]  # type: ignore[misc]
    data = view.copy_data()
    if data is not None:
        value, kind = data

        def as_json() -> str:
            from workbench.render.json import to_json

            return to_json(value, kind)

        out.append(("d", "data, JSON", f"the {kind} with all that is known of it", as_json))
    return out


def _first(text: str) -> str:
    """How a text begins, and how many lines it has beside the first."""
    first, _, rest = text.partition("\n")
    return f"{first}   and {rest.count(chr(10)) + 1} more" if rest else first


def choose(app: WorkbenchApp) -> None:
    """Ask for a form and copy it."""
    from tui.dialogs.choose import ChooseDialog

    found = forms(app.view())

    def chosen(index: int | None) -> None:
        if index is not None:
            app.copy_to_clipboard(found[index][3]())

    lines = [f"{fit(what, 14)}{begins}" for _, what, begins, _ in found]
    app.push_screen(ChooseDialog("Copy as", lines, letters="".join(letter for letter, *_ in found)), chosen)
