"""What Tensors does with the tensor under the cursor and with marked ones: look at the values, save them, follow the wires."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from exec.wording import counted
from tui.views.view import View
from tui.widgets.rows import Rows
from workbench.activations import save_values, values_of
from workbench.render import units

if TYPE_CHECKING:
    from tui.views.tensorrows import TensorEntry


class TensorMarks(View):
    """Marks are places in `all`, the tensors in the order of the model."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.all: list[TensorEntry] = []
        self.rows: list[int] = []
        self.marks: set[int] = set()

    def at(self) -> int | None:
        """The place of the tensor under the cursor; the view knows."""
        raise NotImplementedError

    def show_marks(self) -> None:
        """Say how many are marked; the view knows where."""
        raise NotImplementedError

    def do_mark_toggle(self) -> None:
        k = self.at()
        assert k is not None
        self.marks ^= {k}
        self.query_one(Rows).move(1)
        self._marked()

    def do_mark_range(self) -> None:
        """From the last mark above to the cursor."""
        end = self.query_one(Rows).cursor
        start = max((row for row, k in enumerate(self.rows[: end + 1]) if k in self.marks), default=end)
        self.marks.update(self.rows[start : end + 1])
        self._marked()

    def do_mark_alike(self) -> None:
        """All shown of this shape and type; again takes the marks away."""
        k = self.at()
        assert k is not None
        here = self.all[k]
        alike = {r for r in self.rows if (self.all[r].shape, self.all[r].dtype) == (here.shape, here.dtype)}
        self.marks = self.marks - alike if alike <= self.marks else self.marks | alike
        self._marked()

    def _marked(self) -> None:
        self.show_marks()
        self.owb.refresh_footer()
        size = sum(self.all[k].value_bytes or 0 for k in self.marks)
        count = f"{len(self.marks):,} {'tensor' if len(self.marks) == 1 else 'tensors'} marked, {units.size(size)}"
        self.owb.say(f"{count}: x saves them in one .npz" if self.marks else "nothing is marked")

    # ── values ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _reads(self, entries: Sequence[TensorEntry]) -> Callable[[Any], dict[str, Any]]:
        """What gives the values of tensors by name: weights as they are stored, others from a run."""
        bench = self.owb.bench
        assert bench is not None
        model = bench.current()

        def read(cancel: Any) -> dict[str, Any]:
            found = {e.name: np.asarray(e.weight.values) for e in entries if e.weight is not None}
            made = [e.name for e in entries if e.weight is None]
            return {**found, **values_of(model, made, cancel=cancel)} if made else found

        return read

    def on_rows_opened(self, message: Rows.Opened) -> None:
        from tui.dialogs.slice import SliceDialog

        entry = self.all[self.rows[message.row]]
        read = self._reads([entry])

        def show(found: dict[str, Any]) -> None:
            if entry.name in found:
                self.app.push_screen(SliceDialog(entry.name, found[entry.name]))
            else:
                self.owb.say(f"{entry.name} is no array in this run", "warn")

        self.owb.bridge.run("value", f"reading {entry.name}", lambda p, c: read(c), show, quiet=entry.weight is not None)  # fmt: skip

    def do_out_export(self) -> None:
        from tui.dialogs.export import ask_path

        k = self.at()
        assert k is not None
        chosen = [self.all[m] for m in sorted(self.marks)] or [self.all[k]]
        read = self._reads(chosen)
        if self.marks:
            size = units.size(sum(e.value_bytes or 0 for e in chosen))
            about, target = (
                f"{counted(len(chosen), 'tensor')}, {size}, by name in one .npz",
                f"{self.owb.path.stem}_tensors.npz",
            )
        else:
            here = chosen[0]
            about = f"{here.name}: {'' if here.shape is None else units.shape(here.shape)} {here.dtype}"
            target = ("".join(c if c.isalnum() or c in "._-" else "_" for c in here.name)[-60:] or "tensor") + ".npy"

        where = self.owb.path.with_name(target)
        ask_path(self.owb, "Save values", about, where, lambda path: save_values(path, read(lambda: False)))

    # ── wires ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def maker_name(self, entry: TensorEntry) -> str:
        """The node that makes a value, "" for a weight."""
        bench = self.owb.bench
        lookup = bench.results.lookups.get(bench.key()) if bench is not None else None
        if lookup is None or entry.maker is None or entry.maker not in lookup.row_of:
            return ""
        return lookup.table.label(lookup.row_of[entry.maker])

    def do_jump_producer(self) -> None:
        k = self.at()
        assert k is not None
        self.owb.go("graph", self.all[k].maker)

    def do_jump_reader(self) -> None:
        from tui.dialogs.choose import ChooseDialog

        k = self.at()
        assert k is not None
        readers = list(dict.fromkeys(self.all[k].readers))
        if len(readers) == 1:
            self.owb.show_node_named(readers[0])
            return

        def chosen(index: int | None) -> None:
            if index is not None:
                self.owb.show_node_named(readers[index])

        self.app.push_screen(ChooseDialog(counted(len(readers), "reader"), readers), chosen)
