"""The application service behind the TUI and scripts: one model under work, its history, and what was measured of it.

Typed and synchronous; long calls take `progress` and `cancel`. It knows nothing of screens.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from time import perf_counter_ns
from typing import Any, Literal

from exec.errors import OptionError
from exec.ir import Model, load
from exec.progress import Cancel, Progress
from workbench.history import History, StateInfo, Step

Shown = Literal["A", "B", "A→B"]


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
    """

    def __init__(self, path: str | Path, data: Any = None) -> None:
        self.path = Path(path)
        self.data = data
        self.log: list[Entry] = []
        started = perf_counter_ns()
        model = load(self.path)
        self.opened_ns = perf_counter_ns() - started
        self.history = History(model)
        self.a = 0
        self.shown: Shown = "A"
        self.saved_step = 0
        self.other: Model | None = None
        self._profiles: dict[tuple[int, str], Any] = {}
        self._note(
            f"owb {quote(self.path)}",
            f"bench = Bench({str(self.path)!r})",
            self.opened_ns,
            f"{self.info('A').nodes} nodes",
            None,
        )

    @property
    def b(self) -> int:
        """B always stands at the tip of the history."""
        return self.history.tip

    @property
    def unsaved(self) -> int:
        """Steps since the last save."""
        return abs(self.history.tip - self.saved_step)

    def info(self, slot: str) -> StateInfo:
        """What the header says of slot "A" or "B"."""
        return self.history.steps[self.a if slot == "A" else self.b].info

    def model(self, slot: str) -> Model:
        """The model in slot "A" or "B"."""
        if slot == "B" and self.other is not None:
            return self.other
        return self.history.model(self.a if slot == "A" else self.b)

    def current(self) -> Model:
        """The model the screen shows: B where both are shown."""
        return self.model("A" if self.shown == "A" else "B")

    def current_number(self) -> int:
        return self.a if self.shown == "A" else self.b

    def why_not_next_slot(self) -> str:
        """Why `b` does nothing, or ""."""
        if self.a == self.b and self.other is None:
            return "B is A: change something in 4 or 5, or open a second file (O, then B)"
        return ""

    def next_slot(self) -> Shown:
        """A → B → A→B → A."""
        order: tuple[Shown, ...] = ("A", "B", "A→B")
        self.shown = order[(order.index(self.shown) + 1) % 3]
        return self.shown

    def dry_run(self, progress: Progress | None = None, cancel: Cancel | None = None) -> Any:
        """Count for every rule where it would apply to B and where it refuses."""
        from passes.optimize import dry_run

        return dry_run(self.model("B"), progress=progress, cancel=cancel)

    def optimize(
        self,
        passes: Sequence[str] | str,
        *,
        progress: Progress | None = None,
        cancel: Cancel | None = None,
        verify: bool = True,
    ) -> Step:
        """Apply rules to B as one verified step."""
        from passes.optimize import optimize

        started = perf_counter_ns()
        result = optimize(self.model("B"), passes, verify=verify, progress=progress, cancel=cancel)
        names = passes if isinstance(passes, str) else ",".join(passes)
        title = passes if isinstance(passes, str) else passes[0] if len(passes) == 1 else f"{len(passes)} rules"
        return self._step(
            result.model, title, started, result.report,
            command=f"owb optimize B --passes {shlex.quote(names)}", python=f"model = wb.optimize(model, passes={passes!r}).model",
            options={"do": "optimize", "passes": [passes] if isinstance(passes, str) else list(passes), "verify": verify},
        )  # fmt: skip

    def try_quantize(
        self, *, mode: str = "static", progress: Progress | None = None, cancel: Cancel | None = None, **options: Any
    ) -> Any:
        """Quantize B on the session's data without keeping it; the history does not move."""
        import workbench

        return workbench.quantize(self.model("B"), mode, self.data, progress=progress, cancel=cancel, **options)

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

    def profile(self, slot: str, *, runs: int = 12, engine: str = "embedded", feeds: Mapping[str, Any] | None = None,
                progress: Progress | None = None, cancel: Cancel | None = None) -> Any:  # fmt: skip
        """Measure a slot and remember it beside the state."""
        import workbench

        started = perf_counter_ns()
        number = self.a if slot == "A" else self.b
        result = workbench.profile(self.model(slot), feeds, runs, engine=engine, progress=progress, cancel=cancel)
        self._profiles[number, engine] = result
        self._note(f"owb profile {slot} --engine {engine} --runs {runs}", f"wb.profile(model, runs={runs}, engine={engine!r})",
                   perf_counter_ns() - started, f"{result.sum_ns / 1e6:.2f} ms", None)  # fmt: skip
        return result

    def last_profile(self, slot: str, engine: str = "embedded") -> Any:
        """The last profile of the state in a slot, or None."""
        return self._profiles.get((self.a if slot == "A" else self.b, engine))

    def compare(
        self, *, feeds: Mapping[str, Any] | None = None, progress: Progress | None = None, cancel: Cancel | None = None
    ) -> Any:
        """Run A and B on the same inputs and line up what they share."""
        import workbench

        started = perf_counter_ns()
        result = workbench.compare(self.model("A"), self.model("B"), feeds, progress=progress, cancel=cancel)
        self._note(
            "owb compare A B", "wb.compare(a, b)", perf_counter_ns() - started, f"{len(result.values)} values", None
        )
        return result

    def undo(self) -> StateInfo | None:
        """B goes one step back."""
        return self._moved("undo", self.history.undo())

    def redo(self) -> StateInfo | None:
        """B goes one step forward again."""
        return self._moved("redo", self.history.redo())

    def recipe(self) -> str:
        """The steps up to B as a recipe's text."""
        from workbench.recipe import recipe_of, write_recipe

        done = [step.options for step in self.history.steps[1 : self.b + 1]]
        return write_recipe(recipe_of(done, self.path.name))

    def save_recipe(self, path: str | Path) -> Path:
        """Write the recipe of B."""
        target = Path(path)
        target.write_text(self.recipe(), encoding="utf-8")
        self._note(
            f"owb recipe export {quote(target)}", f"bench.save_recipe({str(target)!r})", 0, f"{self.b} steps", None
        )
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
            f"owb save B -o {quote(target)}",
            f"model.save({str(target)!r})",
            perf_counter_ns() - started,
            f"{target.stat().st_size:,} bytes",
            None,
        )
        return target

    def _moved(self, word: str, info: StateInfo | None) -> StateInfo | None:
        if info is not None:
            self._note(f"owb {word}", f"history.{word}()", 0, f"step {info.number}", info.number)
            if self.a == self.b:
                self.shown = "A"
        return info

    def _step(
        self, model: Model, title: str, started: int, report: Any, *, command: str, python: str, options: dict[str, Any]
    ) -> Step:
        before = self.info("B").nodes
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
