"""The data file of a save: which tensors go there, at which offsets, and from where their bytes come."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exec import dtypes
from exec.budget import element_count
from exec.errors import OptionError
from exec.ir import fs, tensors, wire
from exec.ir.sources import Source
from exec.ir.store import TWO_GB, Blob

if TYPE_CHECKING:
    from exec.ir.model import Export, Model

ALIGNMENT = 4096
"""Offsets in a data file: a page, so that a view on a mapping is aligned for every element type."""

_LOCATION_KEY = b"\x0a\x08location"


@dataclass(frozen=True, slots=True)
class Policy:
    """Where large weights go.

    wanted  True: all to a data file; False: none; None: as the model has it, or because of 2 GB
    name    the data file's name
    """

    wanted: bool | None
    name: str

    @staticmethod
    def of(external: bool | str | None, target: Path) -> Policy:
        if not isinstance(external, str):
            return Policy(external, f"{target.name}.data")
        if not external or external != os.path.basename(external) or external in (".", "..", target.name):
            raise OptionError(
                f"{external!r} is no name for a data file",
                hint="give a plain file name: it is written beside the model",
            )
        return Policy(True, external)


@dataclass(slots=True)
class Part:
    """One tensor of a data file: a range of a source, or bytes in memory."""

    tensor: Any
    key: Any
    length: int
    source: Source | None = None
    at: int = 0
    data: memoryview | None = None
    offset: int = 0


@dataclass(slots=True)
class DataFile:
    """A data file to be written."""

    path: Path
    parts: list[Part] = field(default_factory=list)
    size: int = 0
    written: bool = False

    @staticmethod
    def part(model: Model, tensor: Any) -> Part:
        """Where a tensor's bytes are now."""
        store = model.store
        if tensor.data_location == tensor.EXTERNAL:
            needed = dtypes.stored_bytes(tensor.data_type, element_count(tensor.dims))
            source, offset, length = store.files.locate(tensor, needed)
            return Part(tensor, (source.identity, offset, length), length, source, offset)
        payload = wire.read_token(tensor.raw_data, 0)
        if payload.index < len(store.spans) and store.source is not None:
            offset, length = store.spans[payload.index]
            return Part(tensor, payload.index, length, store.source, offset)
        return Part(tensor, payload.index, payload.length, data=store.payload(payload))

    def place(self) -> None:
        """Give each part its offset; what several tensors share is written once."""
        places: dict[Any, int] = {}
        for part in self.parts:
            if part.key not in places:
                places[part.key] = -(-self.size // ALIGNMENT) * ALIGNMENT
                self.size = places[part.key] + part.length
            part.offset = places[part.key]

    def refer(self) -> None:
        """Let the tensors name this file instead of what they named before."""
        for part in self.parts:
            tensor = part.tensor
            tensor.ClearField("raw_data")
            tensor.data_location = tensor.EXTERNAL
            wanted = {"location": self.path.name, "offset": str(part.offset), "length": str(part.length)}
            for entry in tensor.external_data:
                if entry.key in wanted:
                    entry.value = wanted.pop(entry.key)
            for key, value in wanted.items():
                entry = tensor.external_data.add()
                entry.key, entry.value = key, value

    def write(self) -> None:
        """Write, sync and name the file."""
        end = 0
        done: set[Any] = set()
        with fs.new_file(self.path) as file:
            for part in self.parts:
                if part.key in done:
                    continue
                done.add(part.key)
                if part.offset > end:
                    os.lseek(file.fd, part.offset, os.SEEK_SET)
                if part.source is not None:
                    part.source.copy_to(file.fd, part.at, part.length)
                elif part.data is not None:
                    fs.write_all(file.fd, part.data)
                end = part.offset + part.length
            file.publish(replace=False)
        self.written = True
        fs.sync_folder(str(self.path.parent))

    def discard(self) -> None:
        """Remove the file again: the model that would use it was not written."""
        if self.written:
            with suppress(FileNotFoundError):
                os.unlink(self.path)


def lay_out(
    model: Model, export: Export, serialized: bytes, length: int, target: Path, policy: Policy
) -> tuple[DataFile | None, bool]:
    """Decide where large weights go and let the exported tensors say so; the data file to write, and whether anything changed."""
    split = policy.wanted or (policy.wanted is None and length > TWO_GB)
    if not split and _LOCATION_KEY not in serialized:
        return None, False
    found = list(tensors.in_model(export.proto))
    external = [tensor for tensor, _ in found if tensor.data_location == tensor.EXTERNAL]
    if policy.wanted is False:
        for tensor in external:
            _take_in(model, tensor, export.hold)
        return None, bool(external)
    chosen = _chosen(model, found, external, length, bool(split))
    if policy.wanted is None and len(chosen) == len(external) and _is_own_file(model, target):
        return None, False
    made = DataFile(free_name(target, policy.name))
    for tensor, _ in found:
        if id(tensor) in chosen:
            part = made.part(model, tensor)
            if part.length < wire.MIN_PAYLOAD:
                # What a model keeps inside anyway is not worth a file of its own beside it.
                _take_in(model, tensor, export.hold)
            else:
                made.parts.append(part)
    if not made.parts:
        return None, bool(chosen)
    made.place()
    made.refer()
    return made, True


def _chosen(model: Model, found: list[tuple[Any, bool]], external: list[Any], length: int, split: bool) -> set[int]:
    """The tensors for the data file, by id: those outside now, and new ones or all, as the policy is."""
    store = model.store
    tokens = [(tensor, is_listed) for tensor, is_listed in found if store.is_token(tensor.raw_data)]
    chosen = {id(tensor) for tensor in external}
    if split:
        chosen.update(id(tensor) for tensor, is_listed in tokens if is_listed)
        rest = length - sum(store.raw_length(tensor.raw_data) for tensor, is_listed in tokens if is_listed)
        if rest > TWO_GB:
            chosen.update(id(tensor) for tensor, _ in tokens)
    elif external:
        # A model that keeps its weights outside keeps new ones there, too.
        chosen.update(id(tensor) for tensor, is_listed in tokens if is_listed and store.is_new(tensor.raw_data))
    return chosen


def _take_in(model: Model, tensor: Any, hold: list[Blob]) -> None:
    """Bring an external tensor into the model's own file."""
    part = DataFile.part(model, tensor)
    assert part.source is not None
    data = part.source.view(part.at, part.length)
    tensor.ClearField("external_data")
    tensor.ClearField("data_location")
    tensor.raw_data = model.store.raw_token(data, hold)


def _is_own_file(model: Model, target: Path) -> bool:
    """Whether a save goes over the file the model came from: its data files can stay as they are."""
    return (
        model.path is not None
        and os.path.exists(model.path)
        and os.path.exists(target)
        and os.path.samefile(model.path, target)
    )


def free_name(target: Path, name: str) -> Path:
    """`name` beside `target`, numbered if something has it: a data file is never written over one a model may be using."""
    stem = name.removesuffix(".data")
    number = 0
    path = target.with_name(name)
    while os.path.lexists(path):
        number += 1
        path = target.with_name(f"{stem}.{number}.data")
    return path
