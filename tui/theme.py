"""Colour tokens: code names a meaning, a theme gives it a colour. Nothing is told by colour alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from rich.style import Style
from textual.theme import Theme

_DARK = {
    "bg": "#12161c", "fg": "#d7dde5", "strong": "#f4f7fb", "dim": "#8b97a6", "line": "#566170",
    "focus": "#7cc4ff", "select": "#1f3350",
    "slot.a": "#7cb7ff", "slot.b": "#ffb454",
    "diff.add": "#5ab0ff", "diff.drop": "#ff9e4a", "diff.edit": "#f4f7fb",
    "ok": "#4fc9b0", "warn": "#f5d76e", "bad": "#ff6f61",
    "heat.0": "#6f7a87", "heat.1": "#9a8346", "heat.2": "#c79a2e", "heat.3": "#ffb937", "heat.4": "#fff0b3",
    "cat.compute": "#8cc8ff", "cat.element": "#d7dde5", "cat.reduce": "#4fc9b0", "cat.move": "#8b97a6", "cat.quant": "#c9a6ff", "cat.control": "#f5d76e",
}  # fmt: skip
_LIGHT = {
    "bg": "#fbfaf7", "fg": "#1f2630", "strong": "#0b0f14", "dim": "#5b6673", "line": "#8a94a0",
    "focus": "#0a5bb5", "select": "#d5e6fb",
    "slot.a": "#0a5bb5", "slot.b": "#8a4200",
    "diff.add": "#0a5bb5", "diff.drop": "#a34700", "diff.edit": "#0b0f14",
    "ok": "#006b5b", "warn": "#806000", "bad": "#8f0d1e",
    "heat.0": "#87919c", "heat.1": "#8c7434", "heat.2": "#8a5200", "heat.3": "#7a2e00", "heat.4": "#4a0d00",
    "cat.compute": "#0a5bb5", "cat.element": "#1f2630", "cat.reduce": "#006b5b", "cat.move": "#5b6673", "cat.quant": "#6a32a8", "cat.control": "#806000",
}  # fmt: skip
_BOLD = frozenset({"strong", "diff.edit", "focus"})

HEAT_GLYPHS = "·░▒▓█"
_TIME_STEPS = (0.002, 0.01, 0.03, 0.08)
_SQNR_STEPS = (50.0, 40.0, 30.0, 20.0)


@dataclass(frozen=True)
class Palette:
    """The tokens of one theme, as rich styles."""

    name: str
    dark: bool

    def color(self, token: str) -> str:
        """The hexadecimal colour of a token."""
        return (_DARK if self.dark else _LIGHT)[token]

    @cache  # noqa: B019 - two palettes live as long as the process
    def style(self, token: str, ground: str = "bg") -> Style:
        """Text in `token` on `ground`; a trailing "!" reverses (chips), so that it survives without colour."""
        if token.endswith("!"):
            return Style(color=self.color("bg"), bgcolor=self.color(token[:-1]), bold=True)
        return Style(color=self.color(token), bgcolor=self.color(ground), bold=token in _BOLD)


DARK, LIGHT = Palette("owb-dark", True), Palette("owb-light", False)


def textual_theme(palette: Palette) -> Theme:
    """The same tokens for Textual's own widgets (inputs, scrollbars, toasts)."""
    c = palette.color
    return Theme(
        name=palette.name, dark=palette.dark, primary=c("focus"), secondary=c("slot.b"), accent=c("focus"), foreground=c("fg"), background=c("bg"),
        surface=c("bg"), panel=c("select"), success=c("ok"), warning=c("warn"), error=c("bad"),
        variables={"scrollbar": c("line"), "scrollbar-background": c("bg"), "scrollbar-hover": c("dim"), "footer-background": c("bg"), "input-cursor-background": c("focus")},
    )  # fmt: skip


def heat_of_share(share: float | None) -> int | None:
    """Fixed steps, so that two models compare: <0.2, <1, <3, <8 %, and above."""
    return None if share is None else sum(share >= step for step in _TIME_STEPS)


def heat_of_sqnr(value_db: float | None) -> int | None:
    """≥50, ≥40, ≥30, ≥20 dB, and below."""
    return None if value_db is None else sum(value_db < step for step in _SQNR_STEPS)


_CATEGORIES = {
    "compute": "Conv ConvTranspose Gemm MatMul Einsum LSTM GRU RNN Attention MultiHeadAttention DeformConv FusedConv FusedMatMul MatMulNBits QLinearConv QLinearMatMul ConvInteger MatMulInteger",
    "reduce": "Softmax LogSoftmax BatchNormalization LayerNormalization InstanceNormalization GroupNormalization RMSNormalization LpNormalization LRN MaxPool AveragePool "
    "GlobalAveragePool GlobalMaxPool ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ArgMax ArgMin TopK SkipLayerNormalization",
    "move": "Reshape Transpose Squeeze Unsqueeze Flatten Concat Split Slice Gather GatherND GatherElements ScatterND ScatterElements Pad Expand Tile Resize Upsample "
    "Shape Size Identity Cast Constant ConstantOfShape Range DepthToSpace SpaceToDepth Where",
    "quant": "QuantizeLinear DequantizeLinear DynamicQuantizeLinear",
    "control": "If Loop Scan",
}
_CATEGORY = {op: category for category, ops in _CATEGORIES.items() for op in ops.split()}


def operator_token(op: str, domain: str) -> str:
    """The colour token of an operator's name; a foreign domain stands out as control does."""
    return f"cat.{_CATEGORY.get(op, 'control' if domain not in ('', 'ai.onnx') and op not in _CATEGORY else 'element')}"
