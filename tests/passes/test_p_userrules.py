"""Rewrites from a file of the user's."""

from __future__ import annotations

from pathlib import Path

import pytest

from exec.errors import OptionError
from exec.ir import Node, load
from passes.base import Rewrite
from passes.optimize import optimize
from passes.patch import Patch
from passes.region import Region
from passes.selftest import model_of, report
from passes.userrules import installed_rules, rules_in

MINE = '''
from passes.base import Rewrite
from passes.pattern import any_, op

class ReplaceReluOfAbs(Rewrite):
    """Drop the Relu of an absolute value.

    What    Relu(Abs(x))  becomes  Abs(x).
    Why     It is never negative.
    When    Always.
    Not     -
    Safety  EXACT: nothing changes.
    Source  Algebra.
    """
    id = "my-relu-of-abs"
    pattern = op("Relu", op("Abs", any_("x"), as_="abs", shared=True))
    BEFORE = """ g (float[2] x) => (float[2] y) { a = Abs (x)  b = Relu (a)  y = Neg (b) } """
    AFTER = """ g (float[2] x) => (float[2] y) { a = Abs (x)  y = Neg (a) } """

    def rewrite(self, match, region):
        patch = self.patch(region, match.root)
        patch.replace(match.root.outputs[0], match["abs"].outputs[0])
        return patch
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my_rules.py"
    path.write_text(MINE)
    return path


def test_a_file_of_rules_is_loaded_and_used(file: Path) -> None:
    kinds = rules_in(file)
    assert [k.id for k in kinds] == ["my-relu-of-abs"]
    result = optimize(load(model_of(kinds[0].BEFORE, 17)), "remove-dead-code", rules=[k() for k in kinds])
    assert [a.rule for a in result.report.applied] == ["my-relu-of-abs"]


def test_rules_are_tested_by_their_own_texts(file: Path) -> None:
    assert report(rules_in(file)) == {"my-relu-of-abs": ""}
    file.write_text(MINE.replace("{ a = Abs (x)  y = Neg (a) }", "{ y = Neg (x) }"))
    assert "BEFORE does not become AFTER" in report(rules_in(file))["my-relu-of-abs"]


def test_a_file_without_rules_or_with_an_error_is_named(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="there is no file"):
        rules_in(tmp_path / "none.py")
    (tmp_path / "empty.py").write_text("x = 1\n")
    with pytest.raises(OptionError, match="defines no Rewrite"):
        rules_in(tmp_path / "empty.py")
    (tmp_path / "broken.py").write_text("import nothing_of_this_name\n")
    with pytest.raises(OptionError, match="cannot be loaded") as error:
        rules_in(tmp_path / "broken.py")
    assert "nothing_of_this_name" in error.value.why


def test_no_package_here_brings_rules_of_its_own() -> None:
    assert installed_rules() == []


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ("int32[64] x) => (int32[64] y) <int32 t = {2}> { a = Abs (x)  y = Mul (a, t) }", "int32[64] x) => (int32[64] y) <int32 t = {2}> { y = Mul (x, t) }", "Abs"),
        ("float[64] x) => (float[64] y) <float t = {1e9}> { a = Min (x, t)  y = Neg (a) }", "float[64] x) => (float[64] y) { y = Neg (x) }", "Min"),
    ],
)  # fmt: skip
def test_a_rule_that_is_wrong_for_some_numbers_fails_its_own_test(before: str, after: str, what: str) -> None:
    class Drops(Rewrite):
        id = "drops"
        roots = (what,)
        BEFORE, AFTER = f"g ({before}", f"g ({after}"

        def at(self, node: Node, region: Region) -> Patch:
            patch = self.patch(region, node)
            patch.replace(node.outputs[0], node.inputs[0])
            return patch

    assert "the numbers differ" in report([Drops])["drops"]
