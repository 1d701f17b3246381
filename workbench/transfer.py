"""A model state on its way to another process that has the same file open: structure travels, the file's weights do not.

A snapshot names weights by tokens. Those that stand for bytes of the file mean the same in every process that opened it; only
arrays that somebody made since (folded, quantized) have to be sent, once each, as plain bytes.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

from exec.ir import Model, Snapshot, wire
from exec.ir.store import Blob, Store


@dataclass(frozen=True, slots=True)
class Packed:
    """What travels.

    data   the stripped model, compressed; its tokens bear `nonce`
    blobs  number in the sender's store → bytes, of those the receiver does not have
    known  number in the sender's store → number in the receiver's, of those it has
    """

    data: bytes
    nonce: bytes
    blobs: dict[int, bytes]
    known: dict[int, int]


@dataclass(slots=True)
class Courier:
    """One end of the way. Both ends hold the arrays that crossed, so that none crosses twice.

    mine    number here → number there
    theirs  number there → the array here
    """

    store: Store
    mine: dict[int, int] = field(default_factory=dict)
    held: dict[int, Blob] = field(default_factory=dict)

    def pack(self, snapshot: Snapshot) -> Packed:
        """Make a state ready to leave."""
        fresh = {b.index: bytes(b.data) for b in snapshot.blobs if b.index not in self.mine}
        known = {b.index: self.mine[b.index] for b in snapshot.blobs if b.index in self.mine}
        for blob in snapshot.blobs:
            self.held[blob.index] = blob
        return Packed(snapshot.data, self.store.nonce, fresh, known)

    def unpack(self, packed: Packed) -> tuple[Model, dict[int, int]]:
        """The model that arrived, and for each fresh array its number there → here, for the sender to note."""
        here = dict(packed.known)
        for number, data in packed.blobs.items():
            blob = self.store.put(memoryview(data))
            self.held[blob.index] = blob
            self.mine[blob.index] = number
            here[number] = blob.index
        message = bytearray(zlib.decompress(packed.data))
        for at in wire.tokens_in(bytes(message), packed.nonce):
            payload = wire.read_token(bytes(message[at : at + wire.TOKEN_BYTES]), 0)
            number = here.get(payload.index, payload.index)
            message[at : at + wire.TOKEN_BYTES] = wire.token(self.store.nonce, number, payload.length)
        data = bytes(message)
        snapshot = Snapshot(zlib.compress(data, 1), self.store, self.store.blobs_in(data), None, ())
        return snapshot.restore(), {number: here[number] for number in packed.blobs}

    def arrived(self, numbers: dict[int, int]) -> None:
        """The other end says under which numbers it keeps what was sent."""
        self.mine.update(numbers)
