"""Writing a model so that a reader finds the old files whole or the new ones whole, whatever happens in between.

Everything is written beside its target, synced, and named last: first the data file, under a name nothing has, then the model over
the old one. A failure removes what was begun. A data file that only the replaced model used, and that a save of ours named, goes
after the new model is in place.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from exec.errors import BenchError, SaveError
from exec.ir import fs, tensors, wire
from exec.ir.datafile import Policy, lay_out
from exec.ir.sources import MAP_ABOVE
from exec.ir.store import TWO_GB

if TYPE_CHECKING:
    from exec.ir.model import Export, Model


@dataclass(frozen=True, slots=True)
class Saved:
    """What a save wrote: `data_path` is None where the model needs no new data file."""

    path: Path
    model_bytes: int
    data_path: Path | None
    data_bytes: int


def save(model: Model, path: str | os.PathLike[str], external: bool | str | None) -> Saved:
    """Write a model; see `Model.save`."""
    target = resolve_target(Path(path))
    _spare_data(model, target)
    policy = Policy.of(external, target)
    export = model.export()
    try:
        return _write(model, export, target, policy)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
        raise SaveError(
            "the model cannot be saved there",
            f"file {os.fspath(path)}",
            error.strerror or str(error),
            "give a place with more room (`--output`)" if full else "",
        ) from error


def _write(model: Model, export: Export, target: Path, policy: Policy) -> Saved:
    store, proto = model.store, export.proto
    serialized = proto.SerializeToString()
    length = wire.splice(serialized, store.nonce)[1]
    data_file, changed = lay_out(model, export, serialized, length, target, policy)
    if changed:
        serialized = proto.SerializeToString()
    pieces, length = wire.splice(serialized, store.nonce)
    if length > TWO_GB:
        raise SaveError(
            f"the model would be {length:,} bytes in one file, and a protobuf message holds at most 2 GB",
            f"file {target}",
            hint="let the weights go to a data file: external=True",
        )
    earlier = _data_of(target)
    published = False
    try:
        if data_file is not None:
            data_file.write()
        with fs.new_file(target) as file:
            for chunk in _chunks(model, serialized, pieces, file.fd):
                fs.write_all(file.fd, chunk)
            file.publish(replace=True)
            published = True
    finally:
        if data_file is not None and not published:
            data_file.discard()
    fs.sync_folder(str(target.parent))
    if earlier:
        for old in earlier - _data_of(target):
            _drop(old, target)
    return Saved(
        target, length, None if data_file is None else data_file.path, 0 if data_file is None else data_file.size
    )


def _drop(data: Path, target: Path) -> None:
    """Remove a data file of the model that was replaced, unless another file in the folder names it, or is too large to be asked."""
    name = data.name.encode()
    with suppress(OSError):
        for other in target.parent.iterdir():
            if other in (target, data) or not other.is_file():
                continue
            if other.stat().st_size > MAP_ABOVE or name in other.read_bytes():
                return
        os.unlink(data)


def _chunks(model: Model, data: bytes, pieces: list[wire.SplicePiece], fd: int) -> Iterator[bytes | memoryview]:
    """The bytes to write; spans of the model's own file are copied by the kernel where it can, so they pass by here."""
    store = model.store
    whole = memoryview(data)
    small: list[bytes | memoryview] = []
    for piece in pieces:
        if isinstance(piece, bytes):
            small.append(piece)
        elif isinstance(piece, tuple):
            small.append(whole[piece[0] : piece[1]])
        else:
            yield b"".join(small)
            small.clear()
            if piece.index < len(store.spans) and store.source is not None:
                store.source.copy_to(fd, *store.spans[piece.index])
            else:
                yield store.payload(piece)
    yield b"".join(small)


def resolve_target(path: Path) -> Path:
    """The file that will be written: a link is followed on purpose, so that it stays one. Refuses what is no place for a file."""
    where = f"file {os.fspath(path)}"
    target = path
    try:
        target = Path(os.path.realpath(path))
        status = os.stat(target)
    except FileNotFoundError:
        if not target.parent.is_dir():
            raise SaveError("there is no such folder", f"folder {target.parent}", hint="make it first") from None
        return target
    except (OSError, ValueError) as error:
        raise SaveError(
            "the model cannot be saved there", where, getattr(error, "strerror", None) or str(error)
        ) from error
    if not stat.S_ISREG(status.st_mode):
        raise SaveError(f"a model cannot be saved over a {fs.kind_of(status.st_mode)}", where, hint="give a file name")
    return target


def _spare_data(model: Model, target: Path) -> None:
    """Refuse to write a model over a data file it reads its weights from."""
    if not target.exists():
        return
    status = os.stat(target)
    if any(source.identity == (status.st_dev, status.st_ino) for source in model.store.files.opened()):
        raise SaveError("this is the model's own data file", f"file {target}", hint="give the model another name")


def own_data_pattern(target: Path) -> re.Pattern[str]:
    """The names a save gives to data files of `target`."""
    return re.compile(re.escape(target.name) + r"(\.\d+)?\.data")


def _data_of(target: Path) -> set[Path]:
    """Data files of ours beside `target` that the model there now refers to."""
    from exec.ir import opening
    from exec.ir.names import text

    pattern = own_data_pattern(target)
    try:
        names = {entry.name for entry in os.scandir(target.parent) if pattern.fullmatch(entry.name)}
        if not names or not target.exists():
            return set()
        proto = opening.open_path(target, allow_outside=False)[0]
    except (OSError, BenchError):
        return set()
    used = {
        text(entry.value)
        for tensor, _ in tensors.in_model(proto)
        if tensor.data_location == tensor.EXTERNAL
        for entry in tensor.external_data
        if entry.key == "location"
    }
    return {target.with_name(name) for name in names & used}
