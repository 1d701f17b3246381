"""ONNX's own backend cases through a session: node, simple, pytorch-converted and pytorch-operator."""

from __future__ import annotations

import importlib
import pkgutil
import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from exec.ir import load
from exec.session import Session

FOLDERS = ("simple", "pytorch-converted", "pytorch-operator")
NODE = "onnx.backend.test.case.node"
LISTED = {
    line.split()[0] for line in Path(__file__).with_name("not_yet.txt").read_text().splitlines() if line[:1] not in "#"
}
SAMPLED_MODULES = 24  # a module holds the cases of one op
SAMPLED_PER_FOLDER = 8
SEED = 20


@dataclass(frozen=True)
class Case:
    """A model, and pairs of inputs and the outputs they give."""

    name: str
    model: onnx.ModelProto
    data: list[tuple[list[Any], list[Any]]]
    rtol: float
    atol: float

    @property
    def random(self) -> bool:
        """Whether only shape and type of the outputs are certain."""
        return "bernoulli" in self.name

    def failure(self) -> str | None:
        """What goes wrong; None if nothing does."""
        try:
            session = Session(load(self.model))
            for inputs, outputs in self.data:
                got = session.run(dict(self.feeds(inputs)))
                for info, want in zip(self.model.graph.output, outputs, strict=True):
                    if not agree(want, got[info.name], self):
                        return f"output {info.name} is {got[info.name]!r}, it should be {want!r}"
        except Exception as error:  # whatever it is, it is this case's failure
            return f"{type(error).__name__}: {error}"
        return None

    def feeds(self, inputs: list[Any]) -> Iterator[tuple[str, Any]]:
        infos = list(self.model.graph.input)
        if len(infos) != len(inputs):
            given = {tensor.name for tensor in self.model.graph.initializer}
            infos = [info for info in infos if info.name not in given]
        for info, value in zip(infos, inputs, strict=True):
            if info.name and value is not None:
                yield info.name, value


def agree(want: Any, got: Any, case: Case) -> bool:
    """Whether an output is what the case says, within its tolerances."""
    if isinstance(want, list):
        return (
            isinstance(got, list)
            and len(got) == len(want)
            and all(agree(w, g, case) for w, g in zip(want, got, strict=True))
        )
    if want is None or got is None:
        return want is got
    want, got = np.asarray(want), np.asarray(got)
    if want.dtype.kind in "OUS":
        return bool(want.shape == got.shape and (want.astype(str) == got.astype(str)).all())
    if want.shape != got.shape or want.dtype != got.dtype:
        return False
    if case.random or want.dtype.kind == "b":
        return case.random or bool((want == got).all())
    wide: Any = np.complex128 if want.dtype.kind == "c" else np.float64
    return bool(np.allclose(got.astype(wide), want.astype(wide), rtol=case.rtol, atol=case.atol, equal_nan=True))


def value(proto: Any) -> Any:
    """A stored value as the executor takes it."""
    if isinstance(proto, onnx.TensorProto):
        return numpy_helper.to_array(proto)
    if isinstance(proto, onnx.SequenceProto):
        return numpy_helper.to_list(proto)
    return numpy_helper.to_optional(proto) if isinstance(proto, onnx.OptionalProto) else proto


def node_cases(modules: list[str] | None = None) -> list[Case]:
    """The generated cases, of the given modules or of all."""
    package = importlib.import_module(NODE)
    names = modules or [info.name for info in pkgutil.iter_modules(package.__path__)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        before = len(package._NodeTestCases)
        for name in names:
            importlib.import_module(f"{NODE}.{name}")
    # modules imported before give nothing new; then everything that is loaded is the sample
    found = (package._NodeTestCases[before:] if modules else None) or package._NodeTestCases
    return [
        Case(c.name, c.model, [(list(map(value, i)), list(map(value, o))) for i, o in c.data_sets], c.rtol, c.atol)
        for c in found
    ]


def folder_cases(kind: str, count: int | None = None) -> Iterator[Case]:
    """The stored cases of a folder, all or a sample."""
    loader = importlib.import_module("onnx.backend.test.loader")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = sorted(loader.load_model_tests(kind=kind), key=lambda c: c.name)
    for case in random.Random(SEED).sample(cases, count) if count else cases:
        folder = Path(case.model_dir)
        model = onnx.load(folder / "model.onnx")
        data = [
            (stored(d, "input", list(model.graph.input)), stored(d, "output", list(model.graph.output)))
            for d in sorted(folder.glob("test_data_set_*"))
        ]
        yield Case(case.name, model, data, case.rtol, case.atol)


def stored(folder: Path, prefix: str, infos: list[Any]) -> list[Any]:
    """The values in files input_0.pb, input_1.pb, …"""
    kinds = {"sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto}
    count = len(list(folder.glob(f"{prefix}_*.pb")))
    types = [info.type.WhichOneof("value") for info in infos[:count]]
    return [
        value(kinds.get(kind, onnx.TensorProto).FromString((folder / f"{prefix}_{k}.pb").read_bytes()))
        for k, kind in enumerate(types)
    ]


def check(cases: list[Case]) -> None:
    """Every case passes, but those listed, and these do not."""
    assert cases
    failures = {case.name: why for case in cases if (why := case.failure()) is not None}
    unexpected = {name: why for name, why in failures.items() if name not in LISTED}
    assert not unexpected, "\n".join(f"{name}: {why}" for name, why in unexpected.items())
    passing = sorted(LISTED & {case.name for case in cases} - failures.keys())
    assert not passing, f"these pass now, take them from not_yet.txt: {', '.join(passing)}"


def test_a_sample_of_node_cases() -> None:
    package = importlib.import_module(NODE)
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    check(node_cases(random.Random(SEED).sample(names, SAMPLED_MODULES)))


@pytest.mark.parametrize("kind", FOLDERS)
def test_a_sample_of_stored_cases(kind: str) -> None:
    check(list(folder_cases(kind, SAMPLED_PER_FOLDER)))


@pytest.mark.slow
def test_every_node_case() -> None:
    cases = node_cases()
    assert len(cases) > 1500
    check(cases)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FOLDERS)
def test_every_stored_case(kind: str) -> None:
    check(list(folder_cases(kind)))


def test_what_is_listed_as_failing_has_a_reason() -> None:
    lines = [line for line in Path(__file__).with_name("not_yet.txt").read_text().splitlines() if line[:1] not in "#"]
    assert all(len(line.split()) > 3 for line in lines)
