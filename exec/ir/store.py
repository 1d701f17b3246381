"""Where the bytes of a model's weights are: in its file, in data files beside it, or in arrays somebody made.

One store serves a model and all its copies. In a stripped message a 32-byte token stands for each large payload; the store knows
what it stands for. Arrays are held by what needs them (an export in progress, a Snapshot, the weights of a restored model), so a
store does not grow with the history of edits.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np

from exec import dtypes
from exec.arrays import Array
from exec.budget import Limits, default_limits
from exec.errors import InvalidModel
from exec.ir import wire
from exec.ir.external import DataFiles
from exec.ir.sources import FileSource, Place, Source

M = TypeVar("M")
TWO_GB = (1 << 31) - 1


class Blob:
    """The stored form of one array; whoever holds it keeps its token valid."""

    __slots__ = ("__weakref__", "array", "data", "index")

    def __init__(self, index: int, data: memoryview, array: Any) -> None:
        self.index, self.data, self.array = index, data, array


class Store:
    """The payloads of a lineage of models.

    files   the resolver of external data
    limits  how large a sparse tensor may become when dense, for the bytes it stores
    """

    def __init__(
        self, source: Source | None = None, files: DataFiles | None = None, limits: Limits | None = None
    ) -> None:
        self.nonce = os.urandom(wire.NONCE_BYTES)
        self.source = source
        self.limits = default_limits() if limits is None else limits
        self.spans: list[tuple[int, int]] = []
        self.files = DataFiles(None) if files is None else files
        self._blobs: weakref.WeakValueDictionary[int, Blob] = weakref.WeakValueDictionary()
        self._by_array: weakref.WeakValueDictionary[int, Blob] = weakref.WeakValueDictionary()
        self._next = 0

    @property
    def has_blobs(self) -> bool:
        return bool(self._blobs)

    def is_token(self, data: bytes) -> bool:
        return len(data) == wire.TOKEN_BYTES and data.startswith(self.nonce)

    def is_new(self, data: bytes) -> bool:
        """Whether a `raw_data` field stands for an array, not for bytes of the model's file."""
        return self.is_token(data) and wire.read_token(data, 0).index >= len(self.spans)

    def raw(self, data: bytes) -> memoryview:
        """The payload a `raw_data` field stands for."""
        return self.payload(wire.read_token(data, 0)) if self.is_token(data) else memoryview(data)

    def raw_length(self, data: bytes) -> int:
        return wire.read_token(data, 0).length if self.is_token(data) else len(data)

    def payload(self, item: wire.Payload) -> memoryview:
        """The bytes of a payload."""
        if item.index < len(self.spans):
            assert self.source is not None
            offset, length = self.spans[item.index]
            return self.source.view(offset, length)
        return self._blobs[item.index].data

    def place(self, data: bytes, needed: int) -> Place | None:
        """Where the payload a `raw_data` field stands for lies in the model's file; None where it does not, or is not `needed` long."""
        if not isinstance(self.source, FileSource) or not self.is_token(data):
            return None
        index = wire.read_token(data, 0).index
        if index >= len(self.spans) or self.spans[index][1] != needed:
            return None
        return Place(self.source, *self.spans[index])

    def blob_of(self, data: bytes) -> Blob | None:
        """The array behind a `raw_data` field, if it is one's token."""
        if not self.is_token(data):
            return None
        return self._blobs.get(wire.read_token(data, 0).index)

    def blobs_in(self, data: bytes) -> tuple[Blob, ...]:
        """The arrays the tokens of a stripped message stand for."""
        found = {}
        for at in wire.tokens_in(data, self.nonce):
            index = wire.read_token(data, at).index
            if index >= len(self.spans):
                found[index] = self._blobs[index]
        return tuple(found.values())

    def put(self, data: memoryview, array: Any = None) -> Blob:
        """Make a payload known; `array` is what it was made of."""
        self._next = max(self._next, len(self.spans))
        blob = Blob(self._next, data, array)
        self._blobs[blob.index] = blob
        self._next += 1
        return blob

    def token(self, array: Array, row: dtypes.DType, hold: list[Blob]) -> bytes:
        """What to write as `raw_data` for an array: its bytes if they are few, else a token that lives while `hold` does."""
        if dtypes.stored_bytes(row.code, array.size) < wire.MIN_PAYLOAD:
            return bytes(dtypes.to_bytes(array))
        blob = self._by_array.get(id(array))
        if blob is None:
            fixed = _fixed(array)
            blob = self.put(memoryview(dtypes.to_bytes(fixed)), (array, fixed))
            self._by_array[id(array)] = blob
        hold.append(blob)
        return wire.token(self.nonce, blob.index, len(blob.data))

    def raw_token(self, data: memoryview, hold: list[Blob]) -> bytes:
        """The same for bytes that are stored already."""
        if len(data) < wire.MIN_PAYLOAD:
            return bytes(data)
        blob = self.put(data)
        hold.append(blob)
        return wire.token(self.nonce, blob.index, len(data))

    def filled(self, message: M) -> M:
        """The message with every payload in place; itself if it has no tokens."""
        made: Any = message
        data = made.SerializeToString()
        if self.nonce not in data:
            return message
        pieces, length = wire.splice(data, self.nonce, wire.KINDS[type(message).__name__])
        if length > TWO_GB:
            raise InvalidModel(
                f"the model is {length:,} bytes and a protobuf message holds at most 2 GB",
                hint="`save(path)` writes the weights to a data file beside it",
            )
        full: M = made.FromString(b"".join(self.chunks(data, pieces)))
        return full

    def chunks(self, data: bytes, pieces: list[wire.SplicePiece]) -> Iterator[bytes | memoryview]:
        """The bytes of spliced pieces, in order."""
        whole = memoryview(data)
        for piece in pieces:
            if isinstance(piece, bytes):
                yield piece
            elif isinstance(piece, tuple):
                yield whole[piece[0] : piece[1]]
            else:
                yield self.payload(piece)


def _fixed(array: Array) -> Array:
    """The array, from now on read-only; a copy where somebody could still write to its memory."""
    base: Any = array
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
        if isinstance(base, np.ndarray) and base.flags.writeable:
            return np.array(array)
    if array.flags.owndata:
        array.flags.writeable = False
    return array
