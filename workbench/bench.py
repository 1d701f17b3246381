"""The application service behind the TUI and scripts: one model under work, its history, and what was measured of it.

Typed and synchronous; long calls take `progress` and `cancel`. It knows nothing of screens.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import RLock
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Literal, cast

from exec.errors import OptionError
from exec.ir import Model, load
from exec.progress import Cancel, Progress
from exec.wording import counted
from workbench import jobs
from workbench.card import Summary, inspect
from workbench.history import History, StateInfo, Step, counted_nodes, opened_bytes
from workbench.lookup import Lookup
from workbench.results import Results

if TYPE_CHECKING:
    from workbench.criticalpath import Critical
    from workbench.editsteps import EditStep
    from workbench.findings import Findings
    from workbench.lineup import Lineup
    from workbench.lookup import Lookup
    from workbench.preview import Preview

Shown = Literal["A", "B", "A→B"]
OTHER = -1
"""The number of a second file in slot B; its key is below zero too."""

Runner = Callable[[str, Sequence[StateInfo], dict[str, Any], Progress | None, Cancel | None], Any]
"""Does one of `workbench.jobs` on states of this bench, wherever."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the log: what was done, as a command and as a call, how long it took and what came of it."""

    at: str
    command: str
    python: str
    took_ns: int
    result: str
    step: int | None


class Bench:
    """Two slots on one history: A is what the work is compared with, B is where the work stands.

    path    the opened file; never written
    data    calibration samples, as `quantize` takes them; generated ones without it
    other   a second model in slot B, when one was opened to compare with
    runner  where long work is done; here, when it is None
    """

    def __init__(self, path: str | Path, data: Any = None) -> None:
        self.path = Path(path)
        self.data = data
        self.log: list[Entry] = []
        started = perf_counter_ns()
        model = load(self.path)
        self.opened_ns = perf_counter_ns() - started
        self.history = History(model)
        self.results = Results()
        self._looking = RLock()
        self.a = 0
        self.shown: Shown = "A"
        self.saved_step = 0
        self.other: Model | None = None
        self._other_info: StateInfo | None = None
        self.runner: Runner | None = None
        self._note(
            f"owb {quote(self.path)}",
            f"bench = Bench({str(self.path)!r})",
            self.opened_ns,
            counted(self.info("A").nodes, "node"),
            None,
        )

    # ── slots ──────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def b(self) -> int:
        """B stands at the tip of the history, or is a second file."""
        return OTHER if self._other_info is not None else self.history.tip

    @property
    def same(self) -> bool:
        """Whether both slots hold one state."""
        return self.a == self.b

    @property
    def unsaved(self) -> int:
        """Steps since the last save."""
        return abs(self.history.tip - self.saved_step)

    def number(self, slot: str) -> int:
        """Which state a slot holds; B where both are meant."""
        return self.a if slot == "A" else self.b

    def info_of(self, number: int) -> StateInfo:
        """What the header says of a state."""
        if number == OTHER:
            assert self._other_info is not None
            return self._other_info
        return self.history.steps[number].info

    def info(self, slot: str) -> StateInfo:
        """What the header says of slot "A" or "B"."""
        return self.info_of(self.number(slot))

    def key(self, slot: str = "") -> int:
        """The key of the state in a slot, or of the one shown."""
        return self.info(slot or self.shown).key

    def model(self, slot: str) -> Model:
        """The model in slot "A" or "B"."""
        return self.model_of(self.number(slot))

    def model_of(self, number: int) -> Model:
        """The model of a state."""
        if number == OTHER:
            assert self.other is not None
            return self.other
        return self.history.model(number)

    def current(self) -> Model:
        """The model the screen shows: B where both are shown."""
        return self.model(self.shown)

    def why_not_next_slot(self) -> str:
        """Why `b` does nothing, or ""."""
        return "B is A: change something in 4 or 5, or open a second file (O, then B)" if self.same else ""

    def why_not_change(self) -> str:
        """Why B cannot be changed, or ""."""
        return "B is a second file: B puts a step of the history there first" if self.b == OTHER else ""

    def next_slot(self) -> Shown:
        """A → B → A→B → A."""
        order: tuple[Shown, ...] = ("A", "B", "A→B")
        self.shown = order[(order.index(self.shown) + 1) % 3]
        return self.shown

    def adopt(self, path: str | Path) -> StateInfo:
        """Put a second file into slot B; the history stays as it is."""
        started = perf_counter_ns()
        other = load(path)
        nodes, constants = counted_nodes(other)
        info = StateInfo(OTHER, OTHER - len(self.log), Path(path).name, nodes, constants, opened_bytes(other), other.opset)  # fmt: skip
        self.other, self._other_info, self.shown = other, info, "A→B"
        self._note(f"owb compare {quote(self.path)} {quote(Path(path))}", f"b = wb.load({str(path)!r})", perf_counter_ns() - started, counted(info.nodes, "node"), None)  # fmt: skip
        return info

    def put_a(self, number: int) -> None:
        """Compare with another step."""
        self.a = number
        if self.same:
            self.shown = "A"

    def put_b(self, number: int) -> None:
        """B goes to a step; later steps can be redone until something else is changed."""
        self.other, self._other_info = None, None
        while self.history.tip > number:
            self.undo()
        while self.history.tip < number:
            self.redo()
        if self.same:
            self.shown = "A"

    # ── changes ────────────────────────────────────────────────────────────────────────────────────────────────────

    def dry_run(self, progress: Progress | None = None, cancel: Cancel | None = None) -> Any:
        """Count for every rule where it would apply to B and where it refuses; once for a state."""
        from passes.optimize import dry_run

        key, model = self.key("B"), self.model("B")
        if key not in self.results.dry_runs:
            self.results.dry_runs[key] = dry_run(model, progress=progress, cancel=cancel)
        return self.results.dry_runs[key]

    def preview(self, rule: str) -> Preview:
        """One rule alone on B, to be looked at; once for a state."""
        from workbench.preview import preview

        key, model = (self.key("B"), rule), self.model("B")
        if key not in self.results.previews:
            self.results.previews[key] = preview(model, rule)
        return self.results.previews[key]

    def optimize(
        self,
        passes: Sequence[str] | str,
        *,
        skip: Sequence[str] = (),
        opset: int | None = None,
        target: str = "portable",
        progress: Progress | None = None,
        cancel: Cancel | None = None,
        verify: bool = True,
    ) -> Step:
        """Apply rules to B as one verified step; a newer opset first where one is given."""
        from passes.optimize import optimize

        started = perf_counter_ns()
        result = optimize(
            self.model("B"),
            passes,
            skip=skip,
            opset=opset,
            target=target,
            verify=verify,
            progress=progress,
            cancel=cancel,
        )
        names = passes if isinstance(passes, str) else ",".join(passes)
        title = passes if isinstance(passes, str) else passes[0] if len(passes) == 1 else counted(len(passes), "rule")
        given: dict[str, Any] = {
            k: v for k, v, usual in (("opset", opset, None), ("target", target, "portable")) if v != usual
        }
        if skip:
            given["skip"] = list(skip)
        words = "".join(f" --{k} {','.join(v) if isinstance(v, list) else v}" for k, v in given.items()) + (
            "" if verify else " --no-verify"
        )
        code = "".join(f", {k}={v!r}" for k, v in given.items()) + ("" if verify else ", verify=False")
        return self._step(
            result.model, title, started, result.report,
            command=f"owb optimize B --passes {shlex.quote(names)}{words}", python=f"model = wb.optimize(model, passes={passes!r}{code}).model",
            options={"do": "optimize", "passes": [passes] if isinstance(passes, str) else list(passes), "verify": verify, **given},
        )  # fmt: skip

    def try_quantize(
        self, *, mode: str = "static", progress: Progress | None = None, cancel: Cancel | None = None, **options: Any
    ) -> Any:
        """Quantize B on the session's data without keeping it; the history does not move."""
        return self._run("quantize", ["B"], {"mode": mode, "data": self.data, **options}, progress, cancel)

    def sensitivity(self, *, progress: Progress | None = None, cancel: Cancel | None = None, **options: Any) -> Any:
        """Rank B's nodes by what 8 bits in each alone do to the outputs."""
        started = perf_counter_ns()
        result = self._run("sensitivity", ["B"], {"data": self.data, **options}, progress, cancel)
        self._note("owb quantize B --sensitivity", "sensitivity(model, data)", perf_counter_ns() - started, counted(len(result.nodes), "node"), None)  # fmt: skip
        return result

    def keep_quantized(self, result: Any, *, mode: str = "static", **options: Any) -> Step:
        """Make the result of `try_quantize` a step."""
        words = "".join(
            f" --{k} {shlex.quote(','.join(v) if isinstance(v, list) else str(v))}" for k, v in options.items()
        )
        return self._step(
            result.model, f"int8 {mode}", perf_counter_ns(), result.report,
            command=f"owb quantize B --mode {mode}{words}", python=f"model = wb.quantize(model, {mode!r}, **{options!r}).model",
            options={"do": "quantize", "mode": mode, **self._recorded_data(), **options},
        )  # fmt: skip

    def _recorded_data(self) -> dict[str, Any]:
        """What a recipe needs to find the samples again."""
        if self.data is None:
            return {}
        if isinstance(self.data, (int, str)):
            return {"data": self.data}
        return {"in_memory": "its samples were given in Python"}

    def quantize(
        self, *, mode: str = "static", progress: Progress | None = None, cancel: Cancel | None = None, **options: Any
    ) -> Step:
        """Quantize B as one step."""
        result = self.try_quantize(mode=mode, progress=progress, cancel=cancel, **options)
        return self.keep_quantized(result, mode=mode, **options)

    def edit(self, change: EditStep) -> Step:
        """Cut, rename, prune, set dims of B as one step."""
        import msgspec

        from workbench.editsteps import command_of

        started, what = perf_counter_ns(), msgspec.to_builtins(change)
        return self._step(
            change.apply(self.model("B")), str(what["do"]), started, change,
            command=command_of(change, "B", "B"), python=f"model = {change!r}.apply(model)", options=what,
        )  # fmt: skip

    # ── measurements ───────────────────────────────────────────────────────────────────────────────────────────────

    def _run(self, job: str, slots: Sequence[str], options: dict[str, Any], progress: Progress | None, cancel: Cancel | None) -> Any:  # fmt: skip
        if self.runner is not None:
            return self.runner(job, [self.info(s) for s in slots], options, progress, cancel)
        return jobs.run(job, [self.model(s) for s in slots], options, progress, cancel)

    def profile(
        self, slot: str, *, runs: int = 12, engine: str = "embedded", threads: int = 1, dims: dict[str, int] | None = None, inputs: str = "",
        progress: Progress | None = None, cancel: Cancel | None = None,
    ) -> Any:  # fmt: skip
        """Measure a slot and remember it beside the state.

        dims    sizes for open axes; the usual ones without
        inputs  a file of inputs; made from a seed without
        """
        started, key = perf_counter_ns(), self.key(slot)
        options = {"runs": runs, "engine": engine, "threads": threads, "dims": dims or {}, "inputs": inputs or None}
        result = self._run("profile", [slot], options, progress, cancel)
        self.results.keep_profile(key, engine, result)
        words = "".join(f" --dim {k}={v}" for k, v in (dims or {}).items())
        words += f" --inputs {shlex.quote(inputs)}" if inputs else ""
        self._note(
            f"owb profile {slot} --engine {engine} --runs {runs} --threads {threads}{words}",
            f"wb.profile(model, runs={runs}, engine={engine!r}, threads={threads})",
            perf_counter_ns() - started,
            f"{result.sum_ns / 1e6:.2f} ms",
            None,
        )
        return result

    def activations(self, progress: Progress | None = None, cancel: Cancel | None = None) -> Any:
        """What each value of the state shown is in a run on generated inputs; once for a state."""
        started, key = perf_counter_ns(), self.key()
        if key not in self.results.activations:
            slot = "A" if self.shown == "A" else "B"
            found = self.results.activations[key] = self._run("activations", [slot], {}, progress, cancel)
            self._note(f"# statistics of {slot}'s values", "bench.activations()", perf_counter_ns() - started, counted(len(found), "value"), None)  # fmt: skip
        return self.results.activations[key]

    def last_profile(self, slot: str, engine: str = "embedded") -> Any:
        """The last profile of the state in a slot, or None."""
        return self.results.profile(self.key(slot), engine)

    def compare(
        self,
        *,
        tolerance: float | None = None,
        inputs: str = "",
        progress: Progress | None = None,
        cancel: Cancel | None = None,
    ) -> Any:
        """Run A and B on the same inputs and line up what they share."""
        started, pair = perf_counter_ns(), (self.key("A"), self.key("B"))
        result = self._run("compare", ["A", "B"], {"tolerance": tolerance, "inputs": inputs or None}, progress, cancel)
        self.results.comparisons.pop(pair, None)
        self.results.comparisons[pair] = result
        self._note(
            f"owb compare A B --inputs {shlex.quote(inputs)}" if inputs else "owb compare A B",
            "wb.compare(a, b)",
            perf_counter_ns() - started,
            counted(len(result.values), "value"),
            None,
        )
        return result

    def delta(self) -> Any:
        """How B differs from A in structure; once for a pair."""
        from workbench.delta import diff

        pair = (self.key("A"), self.key("B"))
        if pair not in self.results.deltas:
            self.results.deltas[pair] = diff(self.model("A"), self.model("B"))
        return self.results.deltas[pair]

    def lineup(self) -> Lineup:
        """B's nodes beside A's; once for a pair."""
        from workbench.lineup import line_up

        pair = (self.key("A"), self.key("B"))
        if pair not in self.results.lineups:
            self.results.lineups[pair] = line_up(self.lookup("A"), self.lookup("B"), self.delta())
        return self.results.lineups[pair]

    def critical(self, slot: str = "") -> Critical | None:
        """The path a run must wait for; None without a profile."""
        from workbench.criticalpath import critical_path

        lookup = self.lookup(slot)
        if not lookup.timed:
            return None
        key = id(lookup.profile)
        if key not in self.results.paths:
            self.results.paths[key] = critical_path(lookup)
        return self.results.paths[key]

    # ── what a screen looks up ─────────────────────────────────────────────────────────────────────────────────────

    def card(self, slot: str = "") -> Summary:
        """What a slot's model is; once for a state."""
        key, model = self.key(slot), self.model(slot or self.shown)
        if key not in self.results.cards:
            self.results.cards[key] = inspect(model, work=False)
        return self.results.cards[key]

    def lookup(self, slot: str = "", *, complete: bool = False) -> Lookup:
        """The nodes of a slot: names at once, shapes and costs with `complete`."""
        slot = slot or self.shown
        found = self._looked_up(slot, complete)
        if found is not None:
            return found
        with self._looking:  # who asks meanwhile waits for the same one: two of a large model are 90 MB
            return self._looked_up(slot, complete) or self._look_up(slot, complete)

    def _looked_up(self, slot: str, complete: bool) -> Lookup | None:
        """The lookup there is of a slot, if it serves."""
        known = self.results.lookups.get(self.key(slot))
        if known is None or known.model is not self.model(slot) or known.profile is not self.results.profile(self.key(slot)):  # fmt: skip
            return None
        return known if known.known or not complete else None

    def _look_up(self, slot: str, complete: bool) -> Lookup:
        from workbench.lookup import Lookup

        key, model, profile = self.key(slot), self.model(slot), self.results.profile(self.key(slot))
        known = self.results.lookups.get(key)
        facts = known.known if known is not None and known.model is model else None
        if complete and facts is None:
            from workbench.estimate import estimate

            facts = estimate(model)
        base = known if known is not None and known.model is model and not known.timed else None
        made = Lookup(model, profile, facts, base)
        self.results.lookups[key] = made
        return made

    def findings(self, progress: Progress | None = None, cancel: Cancel | None = None, slot: str = "") -> Findings:
        """What the checks say of a slot; once for a state."""
        from workbench.findings import check

        key, model = self.key(slot), self.model(slot or self.shown)
        if key not in self.results.findings:
            self.results.findings[key] = check(model, progress=progress, cancel=cancel)
        return cast("Findings", self.results.findings[key])

    # ── history and files ──────────────────────────────────────────────────────────────────────────────────────────

    def undo(self) -> StateInfo | None:
        """B goes one step back."""
        return self._moved("undo", self.history.undo())

    def redo(self) -> StateInfo | None:
        """B goes one step forward again."""
        return self._moved("redo", self.history.redo())

    def recipe(self) -> str:
        """The steps up to B as a recipe's text."""
        from workbench.recipe import recipe_of, write_recipe

        done = [step.options for step in self.history.steps[1 : self.history.tip + 1]]
        return write_recipe(recipe_of(done, self.path.name))

    def save_recipe(self, path: str | Path) -> Path:
        """Write the recipe of B."""
        target = Path(path)
        target.write_text(self.recipe(), encoding="utf-8")
        self._note(
            f"# the recipe of B: {quote(target)}",
            f"bench.save_recipe({str(target)!r})",
            0,
            counted(self.history.tip, "step"),
            None,
        )
        return target

    def script(self, target: str) -> str:
        """The steps up to B as a shell script that writes `target`."""
        from workbench.editsteps import command_of
        from workbench.exporting import command_line

        lines, source = ["#!/bin/sh", "set -e"], quote(self.path)
        steps = self.history.steps[1 : self.history.tip + 1]
        for k, step in enumerate(steps):
            out = shlex.quote(target) if k == len(steps) - 1 else f"step{k + 1}.onnx"
            if step.options["do"] not in ("optimize", "quantize"):
                lines.append(command_of(step.report, source, out))
                source = out
                continue
            options = {k: v for k, v in step.options.items() if k not in ("do", "in_memory")}
            lines.append(command_line(step.options["do"], options, source, out))
            source = out
        return "\n".join([*lines, f"owb compare {quote(self.path)} {shlex.quote(target)}"]) + "\n"

    def save_script(self, path: str | Path, model: str) -> Path:
        """Write the script of B."""
        target = Path(path)
        target.write_text(self.script(model), encoding="utf-8")
        self._note(f"# the script of B: {quote(target)}", f"bench.save_script({str(target)!r}, {model!r})", 0, counted(self.history.tip, "step"), None)  # fmt: skip
        return target

    def save_report(self, path: str | Path, progress: Progress | None = None, cancel: Cancel | None = None) -> Path:
        """Write a page that says what changed from A to B."""
        from workbench.changes import gather
        from workbench.feeding import feeds_for
        from workbench.render.html import page

        target, started = Path(path), perf_counter_ns()
        a, b = self.model("A"), self.model("B")
        target.write_text(page(gather(a, b, feeds_for(a, None).values, progress=progress)), encoding="utf-8")
        self._note(f"owb report A B -o {quote(target)}", f"bench.save_report({str(target)!r})", perf_counter_ns() - started, "", None)  # fmt: skip
        return target

    def save(self, path: str | Path) -> Path:
        """Write B; the opened file itself is never the target."""
        target = Path(path)
        if target.exists() and target.samefile(self.path):
            raise OptionError("the opened file is never written over", str(target), hint="give another name")
        started = perf_counter_ns()
        self.model("B").save(target)
        self.saved_step = self.history.tip
        self._note(
            f"# B saved: {quote(target)}",
            f"model.save({str(target)!r})",
            perf_counter_ns() - started,
            f"{target.stat().st_size:,} bytes",
            None,
        )
        return target

    def _moved(self, word: str, info: StateInfo | None) -> StateInfo | None:
        if info is not None:
            self._note(f"# {word}", f"history.{word}()", 0, f"step {info.number}", info.number)
            if self.same:
                self.shown = "A"
        return info

    def _step(
        self, model: Model, title: str, started: int, report: Any, *, command: str, python: str, options: dict[str, Any]
    ) -> Step:
        before = self.info_of(self.history.tip).nodes
        step = self.history.add(model, title, command=command, python=python, options=options, report=report)
        if self.shown == "A":
            self.shown = "B"
        self._note(
            command,
            python,
            perf_counter_ns() - started,
            f"step {step.info.number}  {step.info.nodes - before:+d} nodes".replace("-", "−"),
            step.info.number,
        )
        return step

    def _note(self, command: str, python: str, took_ns: int, result: str, step: int | None) -> None:
        self.log.append(Entry(f"{datetime.now():%H:%M:%S}", command, python, took_ns, result, step))


def quote(path: Path) -> str:
    """A path as a shell takes it."""
    return shlex.quote(str(path))
