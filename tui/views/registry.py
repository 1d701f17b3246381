"""Which class draws which screen."""

from __future__ import annotations

import importlib

from tui.views.view import View

_HOME = {
    "overview": ("tui.views.overview", "OverviewView"),
    "graph": ("tui.views.graph", "GraphView"),
    "tensors": ("tui.views.tensors", "TensorsView"),
    "passes": ("tui.views.passes", "PassesView"),
    "quantize": ("tui.views.quantize", "QuantizeView"),
    "profile": ("tui.views.profile", "ProfileView"),
    "compare": ("tui.views.compare", "CompareView"),
    "checks": ("tui.views.checks", "ChecksView"),
    "log": ("tui.views.log", "LogView"),
}


def names() -> tuple[str, ...]:
    """The screens there are, in the order of the work."""
    return tuple(_HOME)


def make(name: str) -> View:
    """The screen of a name, with that name as its id."""
    module, cls = _HOME[name]
    view: View = getattr(importlib.import_module(module), cls)(id=name)
    return view


def preload() -> None:
    """Import every screen, off the app's own thread."""
    for module, _ in _HOME.values():
        importlib.import_module(module)
