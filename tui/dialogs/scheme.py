"""`r` and `R` of Quantize: how numbers get smaller, and what counts as good enough."""

from __future__ import annotations

from dataclasses import dataclass, replace

from textual.binding import Binding
from textual.widget import Widget

from tui.dialogs.dialog import Dialog
from tui.line import Line, fit
from tui.widgets.rows import Rows
from workbench.render.text import display_name

_CHOICES: tuple[tuple[str, str, tuple[object, ...]], ...] = (
    ("preset", "nodes worth it", ("balanced", "fast", "full")),
    ("method", "ranges by", ("auto", "minmax", "percentile", "entropy", "mse")),
    ("activations", "activations", ("u8", "s8", "u16")),
    ("weights", "weights", ("s8", "u8")),
    ("target_db", "target", (15.0, 20.0, 25.0, 30.0, 35.0, 40.0)),
)


@dataclass(frozen=True, slots=True)
class Scheme:
    """Static QDQ, per channel."""

    preset: str = "balanced"
    method: str = "auto"
    activations: str = "u8"
    weights: str = "s8"
    target_db: float = 20.0

    def options(self) -> dict[str, object]:
        """What `quantize` takes; its defaults are left out, so that a recipe stays short."""
        given = {"preset": self.preset, "method": self.method, "activations": self.activations, "weights": self.weights}
        usual = {"preset": "balanced", "method": "auto", "activations": "u8", "weights": "s8"}
        return {k: v for k, v in given.items() if v != usual[k]}


class SchemeDialog(Dialog[Scheme]):
    """Returns the scheme to rank the nodes with."""

    DEFAULT_CSS = "SchemeDialog Rows { height: 5; }"
    BINDINGS = [
        Binding("down,j", "move(1)", show=False),
        Binding("up,k", "move(-1)", show=False),
        Binding("right,l,plus,space", "turn(1)", show=False),
        Binding("left,h,minus", "turn(-1)", show=False),
        Binding("enter,r", "accept", show=False),
        Binding("q", "leave", show=False),
    ]
    title_text = "Quantize B: static, QDQ, weights per channel"
    hint = "← → change   enter ranks every node   esc closes"

    def __init__(self, scheme: Scheme, data: str) -> None:
        super().__init__()
        self.scheme, self.data = scheme, data
        self.rows = Rows()

    def extra(self) -> list[Widget]:
        return [self.rows]

    def on_mount(self) -> None:
        super().on_mount()
        self.rows.show(len(_CHOICES), self._row)
        self.rows.focus()

    def lines(self, width: int) -> list[Line]:
        return [[("data  ", "dim"), (display_name(self.data, max(width - 8, 10)), "fg")], []]

    def _row(self, row: int, width: int) -> Line:
        field, label, _ = _CHOICES[row]
        value = getattr(self.scheme, field)
        return [(fit(label, 18), "dim"), ("◂ ", "line"), (f"≥ {value:.0f} dB" if field == "target_db" else str(value), "strong"), (" ▸", "line")]  # fmt: skip

    def action_move(self, step: int) -> None:
        """Another line."""
        self.rows.move(step)

    def action_turn(self, step: int) -> None:
        """Another value on this line."""
        field, _, values = _CHOICES[self.rows.cursor]
        at = values.index(getattr(self.scheme, field))
        self.scheme = replace(self.scheme, **{field: values[(at + step) % len(values)]})  # type: ignore[arg-type]
        self.rows.refresh()

    def action_accept(self) -> None:
        """Rank with this."""
        self.dismiss(self.scheme)
