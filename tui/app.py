"""The app: one frame, nine screens inside it, one registry of actions, one bridge for work."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App, ComposeResult
from textual.widgets import ContentSwitcher

from exec.errors import BenchError, OptionError
from exec.wording import counted
from tui import files, glyphs
from tui.actions import BY_ID, bindings
from tui.bridge import Bridge
from tui.header import header
from tui.line import Span
from tui.messages import JobEnded, JobFailed, JobProgress, JobSettled, JobStarted
from tui.theme import DARK, LIGHT, textual_theme
from tui.toasts import Toasts
from tui.views import registry
from tui.views.overview import OverviewView
from tui.views.view import View
from tui.widgets.filterbar import FilterBar
from tui.widgets.frame import Bar, Floor, Keys, Tabs
from workbench.glance import glance
from workbench.render import units
from workbench.render.text import display_name

if TYPE_CHECKING:
    from tui.child import Child
    from workbench.bench import Bench
    from workbench.history import StateInfo
    from workbench.nodes import NodeId

_EAGER = 20_000
"""Models of more nodes are checked and tried when their screen is looked at, not before."""

_FLOOR_ROWS = 30
"""A lower screen gives the row of the bottom rule to its panes."""


class WorkbenchApp(App[None]):
    """`owb MODEL` on a screen.

    bench   the model under work; None while it is being opened
    cursor  the current node, shared by all screens
    child   the process for long work; None where everything runs in threads of this one (tests)
    """

    CSS_PATH = "theme.tcss"
    TITLE = "owb"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = bindings()  # type: ignore[assignment]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-slim"), (100, "-wide"), (130, "-full"), (160, "-huge")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (20, "-high")]

    def __init__(self, path: str | Path, *, theme: str = "owb-dark", data: str | None = None, child: bool = False) -> None:  # fmt: skip
        super().__init__()
        self.path = Path(path)
        self.data = data
        self.wants_child = child
        self.engine = "embedded ×1"  # what the next measurement runs on
        self.child: Child | None = None
        self.remembers = child
        self.resumable: list[dict[str, Any]] = []
        self.watch_file = files.Watch(self.path)
        self.palette = LIGHT if theme == LIGHT.name else DARK
        self.ascii_only = glyphs.wants_ascii()
        self.set_class(self.ascii_only, "-ascii")
        self.bench: Bench | None = None
        self.bridge = Bridge(self)
        self.toasts = Toasts(self)
        self.cursor: NodeId | None = None
        self._trail: list[tuple[str, NodeId | None]] = []
        self._ahead: list[tuple[str, NodeId | None]] = []
        self._said: dict[str, tuple[list[Span], Any]] = {}
        self._passing = False  # what the message row shows is over with the next key
        self.current = "overview"
        self._complete, self._screens_made = False, asyncio.Event()
        self.animation_level = "none"
        for palette in (DARK, LIGHT):
            self.register_theme(textual_theme(palette))
        self.theme = self.palette.name  # before anything is styled: later it would be styled twice

    # ── composition ────────────────────────────────────────────────────────────────────────────────────────────────

    def compose(self) -> ComposeResult:
        yield Bar(id="header")
        yield Tabs(id="tabs")
        with ContentSwitcher(initial="overview", id="screens"):
            yield registry.make("overview")
        yield Floor(id="floor")
        yield FilterBar(id="message")
        yield Keys(id="footer")

    def on_mount(self) -> None:
        self.refresh_frame()
        self.set_interval(files.WATCH_S, self._look_at_file)
        seen = glance(self.path)
        if seen is not None:
            self.query_one("#overview", OverviewView).show_glance(seen)
        self.call_after_refresh(self.open, self.path)

    def _look_at_file(self) -> None:
        """A file that changed is said, never reloaded by itself; nothing is looked at while something is measured."""
        if self.bench is not None and self.bridge.busy is None and self.watch_file.changed():
            self.say(f"{display_name(self.path.name)} has changed on disk: : reload opens it again as A", "warn")

    def open(self, path: Path) -> None:
        """Open a file as A; what was open before stays until the new one is there."""
        data = self.data
        self.say(f"opening {display_name(path.name)}")

        def work(progress: Any, cancel: Any) -> Bench:
            from workbench.bench import Bench

            bench = Bench(path, data)
            bench.card("A")
            return bench

        self.bridge.run("open", f"opening {path.name}", work, self._opened, quiet=True)

    def _opened(self, bench: Bench) -> None:
        files.note(self)
        if self.child is not None:
            self.child.close()
        self.bench, self.path, self.cursor = bench, bench.path, None
        if self.wants_child:
            from tui.child import Child

            self.child = bench.runner = Child(bench)
        self._trail.clear()
        self._ahead.clear()
        self._said.clear()
        self.watch_file = files.Watch(bench.path)
        self.say(f"Opened in {units.duration(bench.opened_ns)}.")
        self.state_changed()
        self.call_after_refresh(self._look_ahead)

    async def _look_ahead(self) -> None:
        """After the first paint: the other screens, then names, shapes and checks, each when the one before is there."""
        await self.all_screens()
        files.load_keymap(self, set(BY_ID))
        files.offer_resume(self)
        self._learn_names()

    async def all_screens(self) -> None:
        """Make the screens that are not there yet; the first one was painted without waiting for them."""
        if not self._complete:
            self._complete = True
            await asyncio.to_thread(registry.preload)
            missing = [registry.make(name) for name in registry.names() if not self.query(f"#{name}")]
            for view in missing:
                view.display = False
            await self.query_one("#screens", ContentSwitcher).mount(*missing)
            self._screens_made.set()
        await self._screens_made.wait()

    def _learn_names(self) -> None:
        bench, slot = self.bench, self.bench.shown if self.bench is not None else "A"
        if bench is None:
            return

        def named(lookup: Any) -> None:
            self._learnt(bench)
            self.bridge.run(
                "shapes", "inferring shapes", lambda p, c: bench.lookup(slot, complete=True), shaped, quiet=True
            )

        def shaped(lookup: Any) -> None:
            self._learnt(bench)
            if len(lookup.table) <= _EAGER:
                self.bridge.run(
                    "checks", "checking the model", lambda p, c: bench.findings(p, c, slot), checked, quiet=True
                )

        def checked(findings: Any) -> None:
            self._learnt(bench)
            if bench.b >= 0:
                self.bridge.run(
                    "dry run",
                    "counting what each rule would do",
                    bench.dry_run,
                    lambda r: self._learnt(bench),
                    quiet=True,
                )

        self.bridge.run("names", "reading names", lambda p, c: self._names(bench, slot), named, quiet=True)

    @staticmethod
    def _names(bench: Bench, slot: str) -> Any:
        lookup = bench.lookup(slot)
        _ = lookup.scopes
        return lookup

    def _learnt(self, bench: Bench) -> None:
        if bench is self.bench:
            self.view().learnt()
            self.refresh_frame()

    # ── screens ────────────────────────────────────────────────────────────────────────────────────────────────────

    def view(self, name: str = "") -> View:
        """One of the nine screens, the current one by default."""
        return self.query_one(f"#{name or self.current}", View)

    def go(self, name: str, node: NodeId | None = None, *, remember: bool = True) -> None:
        """Show a screen, with the cursor on a node if one is given."""
        if remember and (name != self.current or node is not None):
            self._trail.append((self.current, self.cursor))
            self._ahead.clear()
        if node is not None:
            self.cursor = node
        self.current = name
        self.query_one("#screens", ContentSwitcher).current = name
        self._say_again()
        if self.bench is not None:
            self.view().arrived()
        self.refresh_frame()

    def state_changed(self) -> None:
        """Another state is shown, or it was measured: screens fill again when they are looked at."""
        for view in self.query(View):
            view.stale = True
        self.view().arrived()
        self.refresh_frame()
        if self._screens_made.is_set():
            self._learn_names()

    def show_rule(self, rule: str, place: int = 0) -> None:
        """Passes, at a rule and one of its places."""
        self.go("passes")
        view = self.view("passes")
        view.find_rule(rule, place)

    def show_operator(self, op: str) -> None:
        """Graph, filtered to one operator."""
        self.go("graph")
        view = self.view("graph")
        view.on_filter(f"op:{op}")

    def show_query(self, query: str) -> None:
        """Graph, filtered."""
        self.go("graph")
        self.view("graph").on_filter(query)

    def show_node_named(self, name: str) -> None:
        """Graph, at the node of that name if there is one."""
        self.go("graph")
        view = self.view("graph")
        view.find_named(name)

    def on_filter_bar_changed(self, message: FilterBar.Changed) -> None:
        """A key was typed into the query."""
        self._filter(message.query_text)

    def on_filter_bar_closed(self, message: FilterBar.Closed) -> None:
        """enter and ↓ keep the query, esc clears it."""
        if not message.kept:
            self._filter("")
        self.view().focus_first(force=True)
        self._say_again()

    def _filter(self, query: str) -> None:
        try:
            self.view().on_filter(query)
        except OptionError as error:
            self.say(f"{error.what}, {error.where} {error.hint}", "warn")

    # ── frame ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def refresh_frame(self) -> None:
        """Header, tabs and footer follow the state."""
        self.query_one("#header", Bar).show(*header(self))
        badges = {"passes": str(self.bench.b)} if self.bench is not None and self.bench.b else {}
        self.query_one(Tabs).show_tabs(self.current, badges, self.size.width)
        self.query_one(Floor).show_faces(self.view().FACES, self.view().face)
        self.refresh_footer()
        if not self._passing and self._sentence() is None:
            self._say_again()

    def refresh_footer(self) -> None:
        """The focused pane's keys."""
        if self.is_running:
            self.query_one(Keys).show_keys(self.view().footer(), self.size.width)

    def on_resize(self) -> None:
        self.call_later(self._resized)  # the app learns its new size only after this

    def _resized(self) -> None:
        floor = self.query_one(Floor)
        floor.display = self.size.height >= _FLOOR_ROWS
        self.refresh_frame()
        self.call_after_refresh(floor.refresh)  # its feet stand below the seams, wherever these are now

    def say(self, text: str, token: str = "fg", *, passing: bool = False, screen: str = "") -> None:
        """Put a sentence into the message row; it belongs to a screen and a state, and stands there again when one comes back to them.

        passing   it is over with the next key: the answer to a key that could do nothing, the state of work
        screen    whose it is, where the answer may come after one has left; the current one by default
        """
        line: list[Span] = [(" " + display_name(text), token)]
        if not passing:
            self._said[screen or self.current] = (line, self._state())
        if screen in ("", self.current):
            self._passing = passing
            self.query_one(FilterBar).say(line)

    def _state(self) -> Any:
        bench = self.bench
        return (bench.shown, bench.key("A"), bench.key("B")) if bench is not None else None

    def _sentence(self) -> list[Span] | None:
        """What was said on this screen of the state that is shown."""
        line, state = self._said.get(self.current, (None, None))
        return line if state == self._state() else None

    def _say_again(self) -> None:
        """The screen's own sentence, in place of one that is over."""
        self._passing = False
        said = self._sentence() or [(" " + display_name(self.view().sentence()), "dim")]
        self.query_one(FilterBar).say(said)

    # ── actions ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def action_act(self, action_id: str) -> None:
        """Every key comes here: the current screen's own meaning first, then the app's; a disabled one says why."""
        if not self._screens_made.is_set():
            await self.all_screens()
        self.act(action_id)

    def act(self, action_id: str) -> None:
        """Do an action, or say why it cannot be done."""
        view = self.view()
        reason = view.why_not(action_id) or self.why_not(action_id)
        if reason:
            self.say(f"{BY_ID[action_id].text}: {reason}", "warn", passing=True)
            return
        if self._passing and self.bridge.busy is None:
            self._say_again()
        handler = view.handler(action_id) or getattr(self, "do_" + action_id.replace(".", "_").replace("-", "_"), None)
        if handler is None:
            if action_id == f"go.{self.current}" and view.FACES:
                view.do_face_next()
            elif action_id.startswith("go."):
                self.go(action_id.removeprefix("go."))
            else:
                self.say(f"{BY_ID[action_id].text}: nothing here", "dim", passing=True)
            return
        handler()

    def why_not(self, action_id: str) -> str:
        """Reasons that do not depend on the screen."""
        bench = self.bench
        if bench is None:
            return (
                ""
                if action_id in ("app.quit", "help.open", "file.open", "job.cancel", "palette.open")
                else "the model is still being opened"
            )
        if action_id.startswith("go.") and action_id.removeprefix("go.") not in registry.names():
            return "this screen is not in this version"
        match action_id:
            case "slot.next":
                return bench.why_not_next_slot()
            case "session.recipe":
                return bench.why_not_change()
            case "session.resume":
                return "" if self.resumable else "nothing was done to this file the last time"
            case "history.undo":
                return "" if bench.history.tip else "nothing to undo: B is the original"
            case "history.redo":
                return "" if bench.history.tip + 1 < len(bench.history.steps) else "nothing was undone"
            case "jump.back":
                return "" if self._trail else "nothing to go back to"
            case "jump.forward":
                return "" if self._ahead else "already at the newest place"
            case "out.save":
                return "" if bench.history.changed else "nothing changed since the file was opened"
            case "job.cancel":
                return "" if self.bridge.busy else "nothing is running; q quits"
            case "copy.name" | "copy.as":
                return "" if self.view().copy_text() else "nothing under the cursor"
        return ""

    def do_pane_next(self) -> None:
        self._pane(1)

    def do_pane_previous(self) -> None:
        self._pane(-1)

    def _pane(self, step: int) -> None:
        panes = self.view().focus_order()
        if panes:
            at = panes.index(self.focused) if self.focused in panes else -step
            panes[(at + step) % len(panes)].focus()

    def do_out_step(self) -> None:
        self.query_one(FilterBar).close()
        self.view().focus_first()

    def do_jump_back(self) -> None:
        self._ahead.append((self.current, self.cursor))
        name, node = self._trail.pop()
        self.go(name, node, remember=False)

    def do_jump_forward(self) -> None:
        self._trail.append((self.current, self.cursor))
        name, node = self._ahead.pop()
        self.go(name, node, remember=False)

    def do_slot_next(self) -> None:
        assert self.bench is not None
        self.bench.next_slot()
        self.state_changed()

    def do_history_undo(self) -> None:
        assert self.bench is not None
        info = self.bench.undo()
        self.state_changed()
        if info is not None:
            undone = self.bench.info_of(info.number + 1)
            self.say(
                f"undone: step {undone.number}, {display_name(undone.title)}. {self._where(info)}; Z does it again"
            )

    def do_history_redo(self) -> None:
        assert self.bench is not None
        info = self.bench.redo()
        self.state_changed()
        if info is not None:
            self.say(f"done again: step {info.number}, {display_name(info.title)}. {self._where(info)}; z undoes")

    @staticmethod
    def _where(info: StateInfo) -> str:
        step = f"step {info.number}" if info.number else "the original"
        return f"B is {step} with {counted(info.nodes, 'node')}"

    def on_rows_moved(self) -> None:
        """A toast keeps away from the cursor."""
        self.toasts.place()

    def do_help_open(self) -> None:
        from tui.dialogs.help import HelpDialog

        self.push_screen(HelpDialog(self.view()))

    def do_palette_open(self) -> None:
        from tui.dialogs.palette import PaletteDialog

        self.push_screen(PaletteDialog(self.view()), self._chosen)

    def _chosen(self, chosen: str | None) -> None:
        if chosen in BY_ID:
            self.act(chosen)
        elif chosen:
            from tui import shell

            shell.run(self, chosen)

    def do_out_save(self) -> None:
        files.save(self)

    def do_file_open(self) -> None:
        files.choose_file(self)

    def do_slot_choose(self) -> None:
        files.choose_slots(self)

    def do_jump_letters(self) -> None:
        from tui import jump

        jump.start(self)

    def do_session_resume(self) -> None:
        files.resume(self)

    def do_session_recipe(self) -> None:
        files.ask_recipe(self)

    def do_session_reload(self) -> None:
        self.guarded(lambda: self.open(self.path))

    def do_job_cancel(self) -> None:
        """ctrl+c where nothing is selected; what is selected the screen itself copies."""
        job = self.bridge.cancel()
        if job is not None:
            self.say(f"stopping {job.text}", "warn", passing=True)

    def do_copy_name(self) -> None:
        self.copy_to_clipboard(self.view().copy_text())

    def do_copy_as(self) -> None:
        from tui import copying

        copying.choose(self)

    def copy_to_clipboard(self, text: str) -> None:
        """Whatever is copied is said."""
        super().copy_to_clipboard(text)
        lines = text.count("\n") + 1
        self.say(f"copied {counted(lines, 'line')}" if lines > 1 else f"copied {display_name(text, 80)}")

    def do_app_redraw(self) -> None:
        self.refresh(layout=True)

    def do_app_suspend(self) -> None:
        if os.name == "posix":
            self.action_suspend_process()
        else:
            self.say("suspend: not on this system", "warn")

    async def action_quit(self) -> None:
        """Every way out passes the guard."""
        self.do_app_quit()

    def do_app_quit(self) -> None:
        self.guarded(self._leave)

    def guarded(self, then: Callable[[], None]) -> None:
        """Do what would lose unsaved steps, after asking."""
        if self.bench is None or not self.bench.unsaved or not self.bench.history.changed:
            then()
            return
        from tui.dialogs.leave import LeaveDialog

        def answered(answer: str | None) -> None:
            if answer == "save":
                self.do_out_save()
            elif answer == "recipe":
                files.save(self, ("recipe",), then)
            elif answer == "leave":
                then()

        self.push_screen(LeaveDialog(self.bench), answered)

    def _leave(self) -> None:
        files.note(self)
        self.bridge.cancel_all()
        self.exit()

    def on_unmount(self) -> None:
        """Nothing of ours outlives the screen."""
        self.bridge.cancel_all()
        if self.child is not None:
            self.child.close()

    # ── jobs ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def on_job_started(self, message: JobStarted) -> None:
        if not message.quiet:
            self.say(f"{message.text} …", passing=True)
        self.refresh_frame()

    def on_job_progress(self, message: JobProgress) -> None:
        job = self.bridge.jobs.get(message.kind)
        seconds = f"{job.seconds:.1f} s" if job is not None else ""
        count = (
            f"{message.done} of {message.total}  {glyphs.bar(message.done / message.total, 12)}"
            if message.total
            else str(message.done or "")
        )
        self.say(f"{message.text}  {count}  {seconds}  ctrl+c stops", passing=True)

    def on_job_settled(self, message: JobSettled) -> None:
        """Deliver on the app's own thread."""
        if self.is_running:  # panes are already gone while the app closes
            message.then()

    def on_job_ended(self, message: JobEnded) -> None:
        if message.stopped:
            far = f" after {message.done:,} of {message.total:,}" if message.total else ""
            self.say(f"stopped{far}: {message.text}; nothing was changed", "warn")
        elif not message.quiet and self._passing:
            self._say_again()
        if message.stopped and self.bench is not None:
            self.view().learnt()
        self.refresh_frame()

    def on_job_failed(self, message: JobFailed) -> None:
        if self.bench is not None:
            self.view().learnt()
        self.refresh_frame()
        self.fail(message.error)

    def fail(self, error: BenchError) -> None:
        """Show an error until it is seen; the screen behind it stays."""
        from tui.dialogs.failure import FailureDialog

        self.say(f"{error.kind}: {error.what}", "bad")
        self.push_screen(FailureDialog(error), self._failure_closed)

    def _failure_closed(self, _: None) -> None:
        if self.bench is None:
            self.exit(return_code=2)
