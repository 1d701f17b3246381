"""External data: the one place that decides which file beside a model a tensor's bytes may come from.

A location is a name relative to the model's folder and stays inside it. It is checked as text, then resolved and opened beneath the
folder without following links, then the open file is looked at: regular, one name only, long enough. Links are accepted where they
lead to a file inside the folder, and where the model itself is a link and its data lie beside the real model: that is how Hugging
Face's cache looks (snapshots/<rev>/model.onnx → ../../blobs/<hash>).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from exec import dtypes
from exec.budget import bytes_text, default_memory_bytes, element_count
from exec.errors import ExternalDataError
from exec.ir import fs
from exec.ir.names import printable, text
from exec.ir.notes import Note
from exec.ir.sources import FileSource, Place

if TYPE_CHECKING:
    import onnx

FLAG = "--allow-outside"
KNOWN_KEYS = {"location", "offset", "length", "checksum", "basepath"}
MOST_LOCATION = 4096
"""Characters of a location: no system opens a longer path, and resolving one takes as long as it has folders."""
_OVERRIDE = f"`{FLAG}` (allow_outside=True) reads it all the same: only for files you trust"


@dataclass(frozen=True, slots=True)
class Reference:
    """Where a tensor says its bytes are; `length` is None where it does not say."""

    location: str
    offset: int
    length: int | None


def reference(proto: onnx.TensorProto, where: str) -> tuple[Reference, list[str]]:
    """The reference of an external tensor, and the keys nobody knows. Raises `ExternalDataError` for numbers that are none."""
    entries: dict[str, str] = {}
    for entry in proto.external_data:
        entries.setdefault(text(entry.key), text(entry.value))
    if "location" not in entries:
        raise ExternalDataError("an external tensor does not say where its data is", where, "it has no `location`")
    numbers = {key: _number(entries[key], key, where) for key in ("offset", "length") if key in entries}
    unknown = [key for key in entries if key not in KNOWN_KEYS]
    return Reference(entries["location"], numbers.get("offset", 0), numbers.get("length")), unknown


def _number(value: str, key: str, where: str) -> int:
    if not re.fullmatch(r"[0-9]{1,19}", value) or int(value) >= 1 << 63:
        raise ExternalDataError(
            f"the {key} of an external tensor is {value[:40]!r}", where, "it has to be a number from 0 to 2⁶³ − 1"
        )
    return int(value)


class DataFiles:
    """The data files beside one model, each opened once, at first use.

    folder         the model's folder, absolute; None where there is no file the data could lie beside
    real_folder    where the model's file really is, if the model is a link
    allow_outside  read from anywhere the file names
    model          the model's file as messages name it
    """

    def __init__(
        self, folder: str | None, real_folder: str | None = None, allow_outside: bool = False, model: str = ""
    ) -> None:
        self.folder = folder
        self.model = model
        self.real_folder = real_folder
        self.allow_outside = allow_outside
        self.notes: dict[str, Note] = {}
        self._open: dict[str, FileSource] = {}

    def where(self, proto: onnx.TensorProto) -> str:
        """How messages name a tensor."""
        place = f"tensor {text(proto.name)!r}"
        return f"{place}, file {self.model}" if self.model else place

    def view(self, proto: onnx.TensorProto, needed: int) -> memoryview:
        """The bytes of an external tensor, which has to have exactly `needed` of them."""
        place = self.place(proto, needed)
        return place.source.view(place.offset, place.length)

    def place(self, proto: onnx.TensorProto, needed: int) -> Place:
        """Where the bytes of an external tensor are, which has to have exactly `needed` of them."""
        source, offset, length = self.locate(proto, needed)
        if length != needed:
            where = self.where(proto)
            raise ExternalDataError(f"an external tensor has {length:,} bytes where its shape needs {needed:,}", where)
        return Place(source, offset, length)

    def locate(self, proto: onnx.TensorProto, needed: int) -> tuple[FileSource, int, int]:
        """The open file, offset and length of an external tensor; everything checked but whether the length is the right one."""
        where = self.where(proto)
        spot, _ = reference(proto, where)
        source = self.file(spot.location, where)
        length = needed if spot.length is None else spot.length
        if spot.offset + length > source.size:
            raise ExternalDataError(
                f"the data of an external tensor goes beyond the end of {display(spot.location)}",
                where,
                f"it needs bytes {spot.offset:,} to {spot.offset + length:,}, the file has {source.size:,}",
                "the data file is cut short or belongs to another model",
            )
        return source, spot.offset, length

    def check(self, proto: onnx.TensorProto) -> list[Note]:
        """Look at a reference without reading the data: raises for what is refused, notes what is odd or missing."""
        where = self.where(proto)
        spot, unknown = reference(proto, where)
        notes = [
            Note("external-key", where, f"the external data has a key nobody knows: {key!r}") for key in unknown[:1]
        ]
        row = dtypes.from_code(proto.data_type)
        if row is not None and row.bits == 0:
            raise ExternalDataError("a string tensor cannot lie in external data", where)
        if proto.HasField("raw_data"):
            notes.append(Note("raw-and-external", where, "it has raw data and external data; the external data counts"))
        self.check_location(spot.location, where)
        if self.folder is None:
            return notes
        needed = dtypes.stored_bytes(proto.data_type, element_count(proto.dims))
        if spot.length is not None and spot.length < needed:
            raise ExternalDataError(
                f"an external tensor has {spot.length:,} bytes where its shape needs {needed:,}", where
            )
        try:
            self.locate(proto, needed)
        except ExternalDataError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
            notes.append(Note("missing-data", where, f"{error.what}: the model can be looked at, not run"))
            return notes
        if needed > default_memory_bytes():
            notes.append(Note("large-data", where, f"it needs {bytes_text(needed)}, more than the memory to be had"))
        if spot.length is None and self.file(spot.location, where).size > spot.offset + needed:
            notes.append(Note("external-length", where, "it does not say how long its data is; its shape decides"))
        if spot.length is not None and spot.length > needed:
            notes.append(
                Note("external-length", where, f"it has {spot.length:,} bytes of external data and needs {needed:,}")
            )
        return notes

    def check_location(self, location: str, where: str) -> None:
        """Refuse what is not a plain relative name. Nothing is opened."""
        if not location or location in (".", "/"):
            raise ExternalDataError("the location of an external tensor is empty", where)
        if len(location) > MOST_LOCATION:
            raise ExternalDataError(
                "the location of an external tensor is longer than a path can be",
                where,
                f"{len(location):,} characters",
            )
        if "\0" in location:
            raise ExternalDataError("the location of an external tensor has a NUL in it", where, repr(location[:80]))
        if "_ORT_MEM_ADDR_" in location:
            raise ExternalDataError(
                "the location of an external tensor is an address in some process's memory",
                where,
                repr(location[:80]),
                "export the model again",
            )
        if self.allow_outside:
            return
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", location):
            raise ExternalDataError(
                "the location of an external tensor is an address, not a file name", where, repr(location[:80])
            )
        if "\\" in location:
            raise ExternalDataError(
                "the location of an external tensor has a backslash in it", where, repr(location[:80]), _OVERRIDE
            )
        if location.startswith("/"):
            raise ExternalDataError(
                "the location of an external tensor is an absolute path", where, repr(location[:80]), _OVERRIDE
            )
        if ".." in PurePosixPath(location).parts:
            raise ExternalDataError(
                "the location of an external tensor leads out of the model's folder",
                where,
                repr(location[:80]),
                _OVERRIDE,
            )

    def file(self, location: str, where: str) -> FileSource:
        """The open data file."""
        known = self._open.get(location)
        if known is not None:
            return known
        self.check_location(location, where)
        if self.folder is None:
            raise ExternalDataError(
                f"the data of an external tensor is in {display(location)}, beside a model file that is not known",
                where,
                "the model came as bytes, not as a path",
                "open it by its path",
            )
        try:
            source = FileSource(self._opened(location, where), os.path.join(self.folder, location))
        except FileNotFoundError as error:
            raise ExternalDataError(
                f"the data file {display(location)} is not there",
                where,
                f"looked in {self.folder}",
                "copy it beside the model",
            ) from error
        except OSError as error:
            raise ExternalDataError(
                f"the data file {display(location)} cannot be read", where, error.strerror or str(error)
            ) from error
        self._open[location] = source
        return source

    def _opened(self, location: str, where: str) -> int:
        assert self.folder is not None
        path = os.path.join(self.folder, location)
        if self.allow_outside:
            return fs.open_file(path)
        real = os.path.realpath(path)
        root = os.path.realpath(self.folder)
        is_link = real != os.path.join(root, os.path.normpath(location))
        if not _inside(real, root):
            if self.real_folder is None or not _inside(real, self.real_folder):
                raise ExternalDataError(
                    f"the data file {display(location)} is a link out of the model's folder",
                    where,
                    f"the folder is {self.folder}",
                    _OVERRIDE,
                )
            root = self.real_folder
        fd = fs.open_beneath(root, PurePosixPath(os.path.relpath(real, root).replace(os.sep, "/")).parts)
        if os.fstat(fd).st_nlink > 1:
            os.close(fd)
            raise ExternalDataError(
                f"the data file {display(location)} has a second name (a hard link)",
                where,
                "it may be a file from elsewhere",
                _OVERRIDE,
            )
        if is_link:
            self.notes[location] = Note("linked-data", f"file {display(location)}", "the data file is a link")
        return fd

    def opened(self) -> list[FileSource]:
        return list(self._open.values())


def _inside(path: str, folder: str) -> bool:
    return os.path.commonpath([path, folder]) == folder and path != folder


def display(location: str) -> str:
    """A file name from a model as it may be shown."""
    return printable(location[:80])


def real_folder_of(path: str | os.PathLike[str]) -> str | None:
    """Where the real model is, if `path` is a link to it."""
    return os.path.dirname(os.path.realpath(path)) if os.path.islink(path) else None


def for_model(path: str | os.PathLike[str], allow_outside: bool) -> DataFiles:
    """The resolver for a model file. The folder is absolute, also for a bare name in the current one."""
    return DataFiles(os.path.dirname(os.path.abspath(path)), real_folder_of(path), allow_outside, os.fspath(path))
