"""`c` and `C`: another set of columns beside the names of a list."""

from __future__ import annotations

from typing import ClassVar

from tui.views.view import View


class ColumnSets(View):
    """A list with more columns than one screen is wide."""

    SETS: ClassVar[tuple[str, ...]] = ()
    column_set = 0

    def columns_changed(self) -> None:
        """Draw the list with its other columns."""
        raise NotImplementedError

    def do_measure_next(self) -> None:
        self._choose((self.column_set + 1) % len(self.SETS))

    def do_measure_choose(self) -> None:
        from tui.dialogs.choose import ChooseDialog

        def chosen(index: int | None) -> None:
            if index is not None:
                self._choose(index)

        self.app.push_screen(ChooseDialog("Columns", self.SETS, self.column_set), chosen)

    def _choose(self, index: int) -> None:
        self.column_set = index
        self.columns_changed()
        self.owb.say(f"columns: {self.SETS[index]}")
