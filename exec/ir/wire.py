"""Protobuf's wire format, walked without parsing: large weights out before protobuf sees a file, and back in when one is written.

Protobuf's Python copies `raw_data` at every read and keeps the first copy, so `strip` puts a 32-byte token in place of each
large one; `splice` is the same walk the other way. Both keep field order, duplicates, unknown fields and groups as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from exec.ir.names import varint

MODEL, GRAPH, NODE, ATTRIBUTE, TENSOR, SPARSE, FUNCTION, TRAINING = range(8)
RAW_DATA = 9
INNER: tuple[dict[int, int], ...] = (
    {7: GRAPH, 20: TRAINING, 25: FUNCTION},
    {1: NODE, 5: TENSOR, 15: SPARSE},
    {5: ATTRIBUTE},
    {5: TENSOR, 6: GRAPH, 10: TENSOR, 11: GRAPH, 22: SPARSE, 23: SPARSE},
    {},
    {1: TENSOR, 2: TENSOR},
    {7: NODE, 11: ATTRIBUTE},
    {1: GRAPH, 2: GRAPH},
)
KINDS = {
    "ModelProto": MODEL,
    "GraphProto": GRAPH,
    "NodeProto": NODE,
    "AttributeProto": ATTRIBUTE,
    "TensorProto": TENSOR,
    "SparseTensorProto": SPARSE,
    "FunctionProto": FUNCTION,
    "TrainingInfoProto": TRAINING,
}

MIN_PAYLOAD = 1024
# Up to WHOLE a source is read at once; beyond, headers through small windows, so that payloads are not even read.
WHOLE, WINDOW = 64 << 20, 64 << 10
# Protobuf refuses messages nested deeper than this: so does the walk.
MAX_DEPTH = 100
NONCE_BYTES, TOKEN_BYTES = 16, 32

Read = Callable[[int, int], bytes]
Piece = bytes | tuple[int, int]
"""Bytes of our own, or a range (start, end) of what is walked."""


class MalformedError(Exception):
    """This is no protobuf message, or one cut short; `at` is the byte."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


@dataclass(slots=True)
class Stripped:
    """A file without its large weights.

    data    what protobuf parses
    spans   (offset, length) of each token's payload in the file
    graphs  how often the top level has a `graph`: twice means concatenated files
    """

    data: bytes
    spans: list[tuple[int, int]] = field(default_factory=list)
    graphs: int = 0


def token(nonce: bytes, index: int, length: int) -> bytes:
    """What stands for a payload: the nonce nobody can guess, and which payload it is."""
    return nonce + index.to_bytes(8, "little") + length.to_bytes(8, "little")


def strip(read: Read, size: int, nonce: bytes, kind: int = MODEL) -> Stripped:
    """Walk `size` bytes through `read(offset, length)`; only headers and what is kept are read."""
    walker = _Stripper(read, size, nonce)
    pieces = walker.message(kind, 0, size, 0)
    if pieces is None:
        return Stripped(read(0, size), [], walker.graphs)
    data = b"".join([piece if isinstance(piece, bytes) else read(piece[0], piece[1] - piece[0]) for piece in pieces])
    return Stripped(data, walker.spans, walker.graphs)


class _Stripper:
    """One walk: a window on the source, and the spans found so far."""

    def __init__(self, read: Read, size: int, nonce: bytes) -> None:
        self.read, self.size, self.nonce = read, size, nonce
        self.base, self.window = 0, read(0, size if size <= WHOLE else min(size, WINDOW))
        self.spans: list[tuple[int, int]] = []
        self.graphs = 0

    def move(self, position: int) -> None:
        """Let the window begin at `position`."""
        self.base = position
        self.window = self.read(position, min(WINDOW, self.size - position))

    def message(self, kind: int, start: int, end: int, depth: int) -> list[Piece] | None:
        """The pieces of a message with its large payloads replaced; None if it has none."""
        if depth > MAX_DEPTH:
            raise MalformedError(f"messages are nested more than {MAX_DEPTH} deep", start)
        inner = INNER[kind]
        pieces: list[Piece] = []
        copied = position = start
        groups: list[int] = []
        while position < end:
            at = position - self.base
            if at < 0 or (at + 24 > len(self.window) and self.base + len(self.window) < self.size):
                self.move(position)
                at = 0
            window = self.window
            try:
                tag = window[at]
                at += 1
                if tag > 127:
                    tag, at = _varint(window, at - 1, position)
                wire_type = tag & 7
                if wire_type == 2:
                    length = window[at]
                    at += 1
                    if length > 127:
                        length, at = _varint(window, at - 1, position)
                elif wire_type == 0:
                    _, at = _varint(window, at, position)
                    length = 0
            except IndexError:
                raise MalformedError("the data ends inside a field's header", position) from None
            body = self.base + at
            if wire_type == 2:
                following = body + length
                if following > end:
                    raise MalformedError(f"a field claims {length:,} bytes where {end - body:,} are left", position)
                number = tag >> 3
                if number == 7 and kind == MODEL and not groups:
                    self.graphs += 1
                if length >= MIN_PAYLOAD and not groups:
                    replaced = self._field(kind, inner, number, body, following, depth)
                    if replaced is not None:
                        pieces.append((copied, position))
                        pieces += (varint(tag), varint(_length(replaced)), *replaced)
                        copied = following
                position = following
            elif wire_type == 0:
                position = body
            elif wire_type == 5 or wire_type == 1:
                position = body + (4 if wire_type == 5 else 8)
            elif wire_type == 3:
                groups.append(tag >> 3)
                position = body
            elif wire_type == 4 and groups and groups.pop() == tag >> 3:
                position = body
            else:
                raise MalformedError(f"no field can begin with byte {tag & 255:#04x}", position)
        if position != end or groups:
            raise MalformedError("a field goes beyond the end of its message", position)
        if copied == start:
            return None
        pieces.append((copied, end))
        return pieces

    def _field(
        self, kind: int, inner: dict[int, int], number: int, body: int, end: int, depth: int
    ) -> list[Piece] | None:
        if kind == TENSOR:
            if number != RAW_DATA:
                return None
            self.spans.append((body, end - body))
            return [token(self.nonce, len(self.spans) - 1, end - body)]
        child = inner.get(number)
        return None if child is None else self.message(child, body, end, depth + 1)


def _varint(data: bytes, at: int, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise MalformedError("a number has more than ten bytes", position)


def _length(pieces: list[Piece]) -> int:
    return sum([len(piece) if isinstance(piece, bytes) else piece[1] - piece[0] for piece in pieces])


@dataclass(frozen=True, slots=True)
class Payload:
    """The place of a token's payload in a spliced message."""

    index: int
    length: int


SplicePiece = bytes | tuple[int, int] | Payload


def tokens_in(data: bytes, nonce: bytes) -> list[int]:
    """Where the tokens of `nonce` are."""
    found = []
    at = data.find(nonce)
    while at >= 0:
        found.append(at)
        at = data.find(nonce, at + TOKEN_BYTES)
    return found


def read_token(data: bytes, at: int) -> Payload:
    """The payload a token at `at` stands for."""
    index = int.from_bytes(data[at + NONCE_BYTES : at + NONCE_BYTES + 8], "little")
    return Payload(index, int.from_bytes(data[at + NONCE_BYTES + 8 : at + TOKEN_BYTES], "little"))


def splice(data: bytes, nonce: bytes, kind: int = MODEL) -> tuple[list[SplicePiece], int]:
    """The pieces of a serialized message with payloads instead of tokens, and their total length."""
    places = tokens_in(data, nonce)
    if not places:
        return [(0, len(data))], len(data)
    return _Splicer(data, places).message(kind, 0, len(data))


class _Splicer:
    """One walk over a message protobuf has just written: well-formed, and every token in a `raw_data`."""

    def __init__(self, data: bytes, places: list[int]) -> None:
        self.data, self.places, self.next = data, places, 0

    def message(self, kind: int, start: int, end: int) -> tuple[list[SplicePiece], int]:
        data, places = self.data, self.places
        inner = INNER[kind]
        pieces: list[SplicePiece] = []
        total = 0
        copied = position = start
        while position < end and self.next < len(places) and places[self.next] < end:
            place = places[self.next]
            begin = position
            tag, at = _varint(data, position, position)
            if tag & 7 != 2:
                position = _after(data, tag, at)
                continue
            length, at = _varint(data, at, position)
            position = at + length
            if place >= position:
                continue
            if kind == TENSOR:
                payload = read_token(data, place)
                self.next += 1
                grown: list[SplicePiece] = [payload]
                size = payload.length
            else:
                grown, size = self.message(inner[tag >> 3], at, position)
            header = varint(tag) + varint(size)
            pieces.append((copied, begin))
            pieces.append(header)
            pieces += grown
            total += begin - copied + len(header) + size
            copied = position
        pieces.append((copied, end))
        return pieces, total + end - copied


def _after(data: bytes, tag: int, at: int) -> int:
    """Where the field after one that is not length-delimited begins; group markers have no body."""
    wire_type = tag & 7
    if wire_type == 0:
        return _varint(data, at, at)[1]
    return at + {1: 8, 5: 4}.get(wire_type, 0)
