"""Which scope a node's name spells."""

from __future__ import annotations

import pytest

from workbench.scopes import scope_of


@pytest.mark.parametrize(
    ("name", "op", "scope"),
    [
        ("/model.22/cv3/conv/Conv", "Conv", "/model.22/cv3/conv"),
        ("model.22.cv3.conv", "Conv", "model.22.cv3"),
        ("p2o.Conv.3", "Conv", "p2o"),
        ("p2o.Conv.3", "Relu", "p2o.Conv"),
        ("Conv.3", "Conv", ""),
        ("/Conv/Conv_1", "Conv", "/Conv"),
        ("alone", "Conv", ""),
        ("", "Conv", ""),
    ],
)
def test_a_name_that_counts_nodes_of_an_operator_spells_no_scope(name: str, op: str, scope: str) -> None:
    assert scope_of(name, op) == scope
