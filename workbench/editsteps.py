"""Edits as steps of a recipe and of a session's history: each says what it does, does it, and is a command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import msgspec

from exec.ir import Model
from workbench import editing


class ExtractStep(msgspec.Struct, tag_field="do", tag="extract", forbid_unknown_fields=True, omit_defaults=True):
    """The part that makes `outputs` from `inputs`."""

    inputs: list[str] = []
    outputs: list[str] = []

    def apply(self, model: Model) -> Model:
        """A new model."""
        return editing.extract(model, self.inputs, self.outputs)

    def words(self) -> list[str]:
        """The options of `owb edit extract`."""
        return [*_listed("--inputs", self.inputs), *_listed("--outputs", self.outputs)]


class RenameStep(msgspec.Struct, tag_field="do", tag="rename", forbid_unknown_fields=True, omit_defaults=True):
    """Other names for nodes and values: old to new."""

    names: dict[str, str]

    def apply(self, model: Model) -> Model:
        """A new model."""
        return editing.rename(model, self.names)

    def words(self) -> list[str]:
        """The arguments of `owb edit rename`."""
        return [f"{old}={new}" for old, new in self.names.items()]


class PruneStep(msgspec.Struct, tag_field="do", tag="prune", forbid_unknown_fields=True, omit_defaults=True):
    """Outputs to take away, and the nodes that only they needed."""

    drop: list[str]

    def apply(self, model: Model) -> Model:
        """A new model."""
        return editing.drop_outputs(model, self.drop)

    def words(self) -> list[str]:
        """The options of `owb edit prune`."""
        return _listed("--drop-outputs", self.drop)


class SetDimStep(msgspec.Struct, tag_field="do", tag="set-dim", forbid_unknown_fields=True, omit_defaults=True):
    """Sizes or other names for symbolic dims."""

    dims: dict[str, int | str]

    def apply(self, model: Model) -> Model:
        """A new model."""
        return editing.set_dims(model, self.dims)

    def words(self) -> list[str]:
        """The arguments of `owb edit set-dim`."""
        return [f"{name}={size}" for name, size in self.dims.items()]


class InputsToWeightsStep(
    msgspec.Struct, tag_field="do", tag="inputs-to-weights", forbid_unknown_fields=True, omit_defaults=True
):
    """Inputs that have a default become weights; all of them when none is named."""

    inputs: list[str] = []

    def apply(self, model: Model) -> Model:
        """A new model."""
        return editing.inputs_to_weights(model, self.inputs)

    def words(self) -> list[str]:
        """The options of `owb edit inputs-to-weights`."""
        return _listed("--inputs", self.inputs)


class StripStep(msgspec.Struct, tag_field="do", tag="strip", forbid_unknown_fields=True, omit_defaults=True):
    """Provenance goes, and more if asked."""

    docs: bool = False
    metadata: bool = False

    def apply(self, model: Model) -> Model:
        """A new model."""
        return editing.strip(model, docs=self.docs, metadata=self.metadata)

    def words(self) -> list[str]:
        """The options of `owb edit strip`."""
        return ["--docs"] * self.docs + ["--metadata"] * self.metadata


EditStep = ExtractStep | RenameStep | PruneStep | SetDimStep | InputsToWeightsStep | StripStep


def edit_of(options: Mapping[str, object]) -> EditStep:
    """The step that a history's options say."""
    step: EditStep = msgspec.convert(dict(options), EditStep)
    return step


def command_of(step: EditStep, source: str, target: str) -> str:
    """The command line that does the same; `source` and `target` as a shell takes them."""
    return " ".join(
        ["owb edit", str(step.__struct_config__.tag), source, *map(shlex.quote, step.words()), "-o", target]
    )


def _listed(option: str, values: list[str]) -> list[str]:
    return [option, ",".join(values)] if values else []
