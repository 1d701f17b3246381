"""Kernels are what the specification says: their names, inputs, attributes, defaults and families."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx.defs
import pytest
from onnx import AttributeProto, helper

from exec.kernels.registry import RESERVED, Kernel, registered

DROPPED = {"consumed_inputs"}
"""A hint of opset 1 about memory; the caller does not pass it on."""

MISPRINTED = {("GRU", "direction"), ("LpPool", "kernel_shape")}
"""GRU-1's default is the word "foward"; LpPool-1 forgets to require what it cannot do without."""

FAMILIES = {"traditionalml": "ml", "preview": "nn"}
"""Where the file of a schema's family has another name here."""

SCHEMAS: dict[tuple[str, str], list[Any]] = {}
for _schema in onnx.defs.get_all_schemas_with_history():
    SCHEMAS.setdefault((_schema.domain, _schema.name), []).append(_schema)

KERNELS = [k for k in registered() if (k.domain, k.op) in SCHEMAS]


def covered(entry: Kernel) -> list[Any]:
    """The schemas a kernel stands for: from its version up to that of the next kernel of the op."""
    later = [k.since for k in KERNELS if (k.domain, k.op, k.variant) == (entry.domain, entry.op, entry.variant)]
    end = min((since for since in later if since > entry.since), default=1 << 30)
    versions = sorted(SCHEMAS[entry.domain, entry.op], key=lambda s: s.since_version)
    first = max((s.since_version for s in versions if s.since_version <= entry.since), default=entry.since)
    return [s for s in versions if first <= s.since_version < end]


def parameters(entry: Kernel, *kinds: Any) -> dict[str, inspect.Parameter]:
    found = inspect.signature(entry.function).parameters.values()
    return {p.name: p for p in found if p.kind in kinds}


def default_of(attribute: Any) -> Any:
    """An attribute's default as a kernel writes it; None if there is none."""
    if attribute.default_value.type == AttributeProto.UNDEFINED:
        return None
    value = helper.get_attribute_value(attribute.default_value)
    if isinstance(value, bytes):
        return value.decode()
    return [v.decode() if isinstance(v, bytes) else v for v in value] if isinstance(value, (list, tuple)) else value


def ids(entries: list[Kernel]) -> Iterator[str]:
    return (f"{k.domain or 'ai.onnx'}::{k.op}-{k.since}-{k.variant}" for k in entries)


@pytest.mark.parametrize("entry", KERNELS, ids=list(ids(KERNELS)))
def test_a_kernel_takes_what_its_schemas_say(entry: Kernel) -> None:
    schemas = covered(entry)
    assert schemas, "no schema has this version"
    keywords = {n: p for n, p in parameters(entry, inspect.Parameter.KEYWORD_ONLY).items() if n not in RESERVED}
    named = {name for s in schemas for name in s.attributes} - DROPPED
    assert keywords.keys() - DROPPED == named
    positional = parameters(entry, inspect.Parameter.POSITIONAL_ONLY)
    variadic = parameters(entry, inspect.Parameter.VAR_POSITIONAL)
    needed = sum(p.default is inspect.Parameter.empty for p in positional.values())
    for schema in schemas:
        options = [i.option for i in schema.inputs]
        many = onnx.defs.OpSchema.FormalParameterOption.Variadic
        assert bool(variadic) == any(o == many for s in schemas for o in [i.option for i in s.inputs])
        assert len(positional) >= sum(o != many for o in options)
        assert needed <= schema.min_input or many in options


@pytest.mark.parametrize("entry", KERNELS, ids=list(ids(KERNELS)))
def test_a_kernel_has_its_schemas_defaults(entry: Kernel) -> None:
    keywords = parameters(entry, inspect.Parameter.KEYWORD_ONLY)
    for schema in covered(entry):
        for name, attribute in schema.attributes.items():
            if name in DROPPED or (entry.op, name) in MISPRINTED:
                continue
            ours = keywords[name].default
            if attribute.required:
                always = all(s.attributes[name].required for s in covered(entry) if name in s.attributes)
                assert ours is inspect.Parameter.empty or not always, f"{name} must be given"
                continue
            assert ours is not inspect.Parameter.empty, f"{name} needs a default"
            wanted = default_of(attribute)
            if wanted is None:
                assert not ours or isinstance(ours, (int, float, str)), f"{name}: no default is specified"
            elif isinstance(wanted, float):
                assert np.float32(ours) == np.float32(wanted), name
            else:
                assert (list(ours) if isinstance(ours, tuple) else ours) == wanted, name


@pytest.mark.parametrize("entry", KERNELS, ids=list(ids(KERNELS)))
def test_a_kernel_lies_in_the_file_of_its_family(entry: Kernel) -> None:
    family = SCHEMAS[entry.domain, entry.op][-1].file.split("/defs/")[-1].split("/")[0]
    path = entry.function.__module__.split(".")
    place = path[path.index("kernels") + 1]
    assert place == FAMILIES.get(family, family)


def test_every_op_of_the_specification_has_a_kernel_but_gradient() -> None:
    ours = {(k.domain, k.op) for k in KERNELS}
    missing = {key for key, versions in SCHEMAS.items() if key not in ours and not all(s.deprecated for s in versions)}
    assert missing == {("ai.onnx.preview.training", "Gradient")}


def test_every_version_of_an_op_has_a_kernel() -> None:
    oldest: dict[tuple[str, str], int] = {}
    for entry in KERNELS:
        key = (entry.domain, entry.op)
        oldest[key] = min(entry.since, oldest.get(key, entry.since))
    late = {k: v for k, v in oldest.items() if v > min(s.since_version for s in SCHEMAS[k])}
    assert not late
