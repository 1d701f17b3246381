"""The first row: the file, what A and B are, which of them is shown, what runs on which engine, whether something is unsaved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exec.wording import counted
from tui.line import Span, width_of
from workbench.render import units
from workbench.render.text import display_name

if TYPE_CHECKING:
    from tui.app import WorkbenchApp
    from workbench.bench import Bench

_DOING = {"profile": "measuring", "compare": "comparing", "optimize": "applying", "sensitivity": "ranking", "quantize": "quantizing", "save": "saving", "open": "opening", "export": "writing", "command": "running"}  # fmt: skip


def header(app: WorkbenchApp) -> tuple[list[Span], list[Span]]:
    """What stands at the left and at the right; sizes give way first, then the engine, then titles."""
    left: list[Span] = [(" owb ", "focus"), (f" {display_name(app.path.name, 40)}  ", "strong")]
    bench = app.bench
    if bench is None:
        return left, []
    state: Span = ("● unsaved ", "warn") if bench.unsaved else ("saved ", "dim")
    right: list[Span] = [(f"{app.engine}   ", "dim"), state]
    job = app.bridge.busy
    if job is not None:
        right.insert(0, (f"◐ {_DOING.get(job.kind, job.kind)}  ", "warn"))
    for sizes, titles, engine in ((True, True, True), (False, True, True), (False, True, False), (False, False, False)):
        slots = _slots(bench, sizes=sizes, titles=titles)
        end = right if engine else right[:-2] + right[-1:]
        if width_of(left) + width_of(slots) + width_of(end) <= app.size.width:
            break
    return left + slots, end


def _slots(bench: Bench, *, sizes: bool, titles: bool) -> list[Span]:
    """A, B and A→B, the one that is shown in a frame."""
    out: list[Span] = []
    for slot, token in (("A", "slot.a"), ("B", "slot.b")):
        info = bench.info(slot)
        chosen = bench.shown == slot
        if slot == "B" and bench.a == bench.b:
            out.append(("B = A  ", "dim"))
            continue
        title = f"{slot} {display_name(info.title, 24)}" if titles else slot
        out += [("▐", token), (title, token + "!"), ("▌", token)] if chosen else [(f" {title} ", token)]
        facts = f" {counted(info.nodes, 'node')}" + (f" · {units.size(info.file_bytes)}" if sizes else "")
        out.append((facts + "  ", "fg" if chosen else "dim"))
    if bench.shown == "A→B":
        return [*out, ("▐", "focus"), ("A→B", "focus!"), ("▌", "focus")]
    return [*out, (" A→B ", "dim" if bench.a != bench.b else "line")]
