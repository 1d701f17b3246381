"""The five packages have plain names; make sure the ones Python finds are ours.

`exec`, `passes`, `quantize`, `workbench` and `tui` are installed together, side by side. Another distribution may own one of
these names too (an index has one called "workbench"): then this says so, instead of failing somewhere deep.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

SIBLINGS = ("exec", "passes", "quantize", "tui")


def check() -> None:
    """Raise ImportError if a sibling package does not lie beside this one."""
    home = Path(__file__).resolve().parent.parent
    for name in SIBLINGS:
        spec = find_spec(name)
        found = Path(spec.origin).resolve().parent if spec is not None and spec.origin else None
        if found != home / name:
            raise ImportError(
                f"onnx-workbench expects its package '{name}' at {home / name}, found {found or 'nothing'}. "
                "Another distribution uses the same name: install onnx-workbench in its own environment (pipx or uv tool)."
            )
