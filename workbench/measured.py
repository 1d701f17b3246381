"""Times of nodes that were measured before: what `owb profile` or a runtime wrote, for queries and columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exec.errors import OptionError
from exec.ir import Model
from workbench import slowdown

FORMS = "`owb profile --save FILE`, `owb profile --json`, onnxruntime's trace and trtexec's --exportProfile are read"


@dataclass(frozen=True, slots=True)
class Timed:
    """The median of one node; `op` and `index` tell which where it has no name."""

    name: str
    op: str
    index: int
    median_ns: float


@dataclass(frozen=True, slots=True)
class Measured:
    """The times of a model, as `Lookup` takes them."""

    nodes: tuple[Timed, ...]


def times_in(path: str | Path, model: Model) -> Measured:
    """The times in a file; raises OptionError that says which files hold some."""
    from exec.engines.imported import imported, times_file

    data = times_file(path, FORMS)
    if isinstance(data, Mapping):
        entries = _ours(data) if data.get("kind") == "profile" else _baseline(path)
        return Measured(tuple(entries))
    return Measured(tuple(Timed(n.name, n.op, n.index, n.median_ns) for n in imported(path, model).nodes))


def _ours(data: Mapping[str, Any]) -> Iterator[Timed]:
    """The rows of `owb profile --json`."""
    try:
        for row in data["nodes"]:
            yield Timed(str(row["name"]), str(row["op"]), int(row["index"]), float(row["median_ns"]))
    except (KeyError, TypeError, ValueError) as error:
        raise OptionError("this is no profile", why=f"{type(error).__name__}: {error}", hint=FORMS) from error


def _baseline(path: str | Path) -> Iterator[Timed]:
    """The nodes of `owb profile --save`, called by name, or by operator and place."""
    for name, entry in slowdown.read(path).nodes.items():
        op, _, index = name.rpartition("#")
        yield Timed(name, "", -1, entry.median_ns)
        if op and index.isdigit():
            yield Timed("", op, int(index), entry.median_ns)
