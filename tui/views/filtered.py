"""Lists that `/` narrows by words: a row stays when every word stands in it."""

from __future__ import annotations

from exec.wording import counted
from tui.views.view import View
from tui.widgets.filterbar import FilterBar


class Filtered(View):
    """A screen whose list follows what is typed; `refill` shows the rows that `lets_through`."""

    query_text = ""

    def refill(self) -> None:
        """Show the list again; the query is another one."""
        raise NotImplementedError

    def hits(self) -> str:
        """How many rows stay, of how many: stands beside the query."""
        raise NotImplementedError

    def lets_through(self, *texts: str) -> bool:
        """Whether every word of the query stands in one of the texts."""
        return all(any(word in text.lower() for text in texts) for word in self.query_text.lower().split())

    def do_find_filter(self) -> None:
        self.app.query_one(FilterBar).open(self.query_text)

    def on_filter(self, query: str) -> None:
        self.query_text = query
        self.refill()
        self.app.query_one(FilterBar).figure(self.hits())

    def do_out_step(self) -> None:
        """esc: out of a side pane, then out of the filter."""
        main = self.main_pane()
        if self.has_class("full"):
            self.do_pane_full()
        elif self.query_text and self.app.focused is main:
            self.query_text = ""
            self.refill()
        elif main is not None:
            main.focus()


def shown_of(shown: int, total: int, of: str) -> str:
    """ "3 of 10 checks", "1 of 1 check"."""
    return f"{shown:,} of {counted(total, of)}"
