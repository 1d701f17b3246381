"""Tab offers commands, rules, presets and node names, and nothing where nothing can be read."""

from __future__ import annotations

import pytest
from click.shell_completion import ShellComplete

from workbench.cli.group import owb
from workbench.samples import sample


def offered(*typed: str) -> list[str]:
    *before, incomplete = typed
    return [item.value for item in ShellComplete(owb, {}, "owb", "_OWB_COMPLETE").get_completions(before, incomplete)]


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        (("op",), "optimize"),
        (("optimize", "--pa"), "--passes"),
        (("optimize", "--passes", "agg"), "aggressive"),
        (("optimize", "--skip", "fuse-conv-bn,fuse-gel"), "fuse-conv-bn,fuse-gelu"),
        (("explain", "OWB02"), "OWB021"),
        (("show", str(sample("digits_cnn.onnx")), "/head"), "/head/Gemm"),
    ],
)
def test_tab_goes_on_from_what_is_typed(typed: tuple[str, ...], wanted: str) -> None:
    assert wanted in offered(*typed)


def test_a_model_that_cannot_be_read_offers_nothing() -> None:
    assert offered("show", "no_such.onnx", "") == []
