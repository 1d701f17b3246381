"""`x`: write what is marked to a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exec.errors import OptionError
from tui.dialogs.ask import AskDialog
from workbench.cutting import borders, cut
from workbench.lookup import Lookup
from workbench.render.text import display_name

if TYPE_CHECKING:
    from tui.app import WorkbenchApp


def ask_path(app: WorkbenchApp, title: str, about: str, default: Path, write: Callable[[Path], Any]) -> None:
    """Ask where to, then write in the background; the opened file is never the target."""

    def given(text: str | None) -> None:
        if text is None:
            return
        target = Path(text).expanduser()

        def work(progress: Any, cancel: Any) -> Path:
            if target.exists() and target.samefile(app.path):
                raise OptionError("the opened file is never written over", str(target), hint="give another name")
            write(target)
            return target

        def written(done: Path) -> None:
            app.say(f"wrote {display_name(str(done), 200)}")
            app.toasts.done(f"wrote {done.name}")

        app.bridge.run("export", f"writing {target.name}", work, written)

    app.push_screen(AskDialog(title, [[(display_name(about, 200), "fg")]], str(default)), given)


def export_nodes(app: WorkbenchApp, lookup: Lookup, rows: Sequence[int]) -> None:
    """The chosen nodes as a model."""
    ins, outs = borders(lookup, rows)
    about = (
        f"{len(rows)} {'node' if len(rows) == 1 else 'nodes'}: {len(ins)} in, {len(outs)} out ({', '.join(outs[:3])})"
    )
    default = app.path.with_name(f"{app.path.stem}_part.onnx")
    ask_path(app, "Extract nodes", about, default, lambda target: cut(lookup, rows).save(target))
