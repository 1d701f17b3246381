"""Files and slots: opening, saving, choosing A and B, what is remembered, and a file that changes on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exec.errors import BenchError
from exec.wording import counted
from tui.numbers import gained
from tui.views.view import View
from workbench.render import units
from workbench.render.text import display_name

if TYPE_CHECKING:
    from tui.app import WorkbenchApp
    from tui.dialogs.save import Wanted
    from tui.line import Line
    from workbench.bench import Bench

WATCH_S = 2.0


def save(app: WorkbenchApp, kinds: Sequence[str] = ("model", "recipe"), then: Callable[[], None] | None = None) -> None:
    """Ask what to write, write it in the background; `then` follows once it is written."""
    from tui.dialogs.save import SaveDialog

    bench = app.bench
    assert bench is not None

    def given(wanted: Wanted | None) -> None:
        if wanted is not None:
            app.bridge.run("save", f"saving {wanted.stem.name}", lambda p, c: write(bench, wanted), written)  # fmt: skip

    def written(done: list[Path]) -> None:
        saved(app, done)
        if then is not None:
            then()

    app.push_screen(SaveDialog(bench, kinds), given)


def write(bench: Bench, wanted: Wanted) -> list[Path]:
    """Every kind that was picked; the model first, because it is what can be refused."""
    done = []
    for kind in wanted.kinds:
        path = wanted.path(kind)
        match kind:
            case "model":
                done.append(bench.save(path))
            case "recipe":
                done.append(bench.save_recipe(path))
            case "script":
                done.append(bench.save_script(path, str(wanted.path("model"))))
            case _:
                done.append(bench.save_report(path))
    return done


def saved(app: WorkbenchApp, done: list[Path]) -> None:
    """Say what was written and where."""
    names = ", ".join(p.name for p in done)
    app.say(f"saved {display_name(names)} in {display_name(str(done[0].resolve().parent), 60)}")
    app.toasts.done(f"saved {names}")
    note(app)
    app.refresh_frame()


def note(app: WorkbenchApp) -> None:
    """Remember the file and how far the work went."""
    from workbench.sessions import remember

    bench = app.bench
    if bench is None or not app.remembers:
        return
    steps = [dict(s.options) for s in bench.history.steps[1 : bench.history.tip + 1]]
    result = ""
    if bench.history.tip:
        change = bench.info_of(bench.history.tip).nodes - bench.info("A").nodes
        result = gained(change, "node")
    screens = {str(view.id): view.remembered() for view in app.query(View) if view.remembered()}
    remember(bench.path, bench.history.steps[0].info.file_bytes, result, steps, screens)


def offer_resume(app: WorkbenchApp) -> None:
    """Leave every screen as it was left the last time, and say that there were steps."""
    from workbench.sessions import last_of

    bench = app.bench
    if bench is None or not app.remembers:
        return
    last = last_of(bench.path)
    app.resumable = list(last.steps) if last is not None else []
    for view in app.query(View):
        if last is not None and str(view.id) in last.screens:
            view.take(last.screens[str(view.id)])
    if app.view().stale:
        app.view().arrived()
    if last is not None and last.steps:
        app.say(f"Opened in {units.duration(bench.opened_ns)}. Last time {len(last.steps)} {'step' if len(last.steps) == 1 else 'steps'} ({last.result}): : resume does {'it' if len(last.steps) == 1 else 'them'} again.")  # fmt: skip


def resume(app: WorkbenchApp) -> None:
    """Do the last session's steps again."""
    from workbench.recipe import recipe_of

    try:
        steps = recipe_of(app.resumable).step
    except BenchError as error:
        app.fail(error)
        return
    app.resumable = []
    _do_again(app, steps, None, "the last session's steps")


def ask_recipe(app: WorkbenchApp) -> None:
    """Which recipe to run."""
    from tui.dialogs.ask import AskDialog

    about: list[Line] = [[("its steps are done on B, each one verified and undone by z", "fg")]]
    app.push_screen(AskDialog("Run a recipe", about, f"{app.path.parent}/"), lambda text: run_recipe(app, Path(text)) if text else None)  # fmt: skip


def run_recipe(app: WorkbenchApp, path: Path) -> None:
    """Do a recipe's steps on B."""
    from workbench.recipe import read_recipe

    path = path.expanduser()
    bench = app.bench
    if bench is not None and bench.why_not_change():
        app.say(bench.why_not_change(), "warn", passing=True)
        return
    try:
        steps = read_recipe(path).step
    except BenchError as error:
        app.fail(error)
        return
    _do_again(app, steps, path.resolve().parent, display_name(path.name))


def _do_again(app: WorkbenchApp, steps: Sequence[Any], folder: Path | None, what: str) -> None:
    from workbench.replaying import do_again

    bench = app.bench
    assert bench is not None
    before = bench.info("B")

    def done(count: int) -> None:
        app.state_changed()
        change = gained(bench.info("B").nodes - before.nodes, "node")
        said = f"{what}: {counted(count, 'step')} done, {change}"
        app.say(f"{said}; z undoes the last")
        app.toasts.done(f"{said}   z undoes")

    app.bridge.run("optimize", f"running {what}", lambda p, c: do_again(bench, steps, folder=folder, progress=p, cancel=c), done)  # fmt: skip


def choose_file(app: WorkbenchApp, *, second: bool = False) -> None:
    """`O`: another file in A, or a second one in B."""
    from tui.dialogs.open import OpenDialog

    def given(answer: tuple[str, Path] | None) -> None:
        if answer is None:
            return
        slot, path = answer
        if slot == "A" or app.bench is None:
            app.guarded(lambda: app.open(path))
            return
        bench = app.bench

        def adopted(_: Any) -> None:
            app.state_changed()
            app.say(f"B is {display_name(path.name)}: b shows A, B, A→B; 7 r compares")
            app.toasts.done(f"opened {path.name} as B")

        app.bridge.run("open", f"opening {path.name}", lambda p, c: bench.adopt(path), adopted)

    app.push_screen(OpenDialog(app.path.parent, second=second), given)


def choose_slots(app: WorkbenchApp) -> None:
    """`B`: steps and files into A and B."""
    from tui.dialogs.slots import SlotDialog

    bench = app.bench
    assert bench is not None

    def given(answer: tuple[str, int] | None) -> None:
        if answer is None:
            return
        what, number = answer
        if what == "file":
            choose_file(app, second=True)
            return
        if what == "A":
            bench.put_a(number)
        elif what == "B":
            bench.put_b(number)
        elif bench.b >= 0:
            a, b = bench.a, bench.b
            bench.put_a(b)
            bench.put_b(a)
        app.state_changed()
        app.say(
            f"A is step {bench.a}, {display_name(bench.info('A').title)}; B is {display_name(bench.info('B').title)}"
        )

    app.push_screen(SlotDialog(bench), given)


def load_keymap(app: WorkbenchApp, known: set[str]) -> None:
    """Keys of one's own; ids that do not exist are named."""
    from workbench.sessions import read_keymap

    keymap, wrong = read_keymap()
    unknown = sorted(set(keymap) - known)
    app.set_keymap({k: v for k, v in keymap.items() if k in known})
    if wrong or unknown:
        app.say(wrong or f"keymap: no action {', '.join(unknown)}; ? lists the ids", "warn")


class Watch:
    """Looks now and then whether the opened file is still what was opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stamp = self._stamp()

    def _stamp(self) -> tuple[int, int] | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_size, status.st_mtime_ns

    def changed(self) -> bool:
        """Whether it changed since the last look."""
        now = self._stamp()
        before, self.stamp = self.stamp, now
        return now is not None and now != before
