"""Where the bytes of a model's weights are."""

from __future__ import annotations

from typing import Any

from exec import dtypes
from exec.arrays import Array


class Store:
    """The bytes behind the weights of a model and of all its copies."""

    def __init__(self, folder: str | None = None, allow_outside: bool = False) -> None:
        self.folder = folder
        self.allow_outside = allow_outside

    def raw(self, data: bytes) -> memoryview:
        """The payload a `raw_data` field stands for."""
        return memoryview(data)

    def external(self, proto: Any, length: int) -> memoryview:
        raise NotImplementedError

    def token(self, array: Array, row: dtypes.DType) -> bytes:
        """What to write as `raw_data` for an array."""
        return bytes(dtypes.to_bytes(array))

    def adopt(self, weight: Any, out: Any) -> None:
        """Make `out`, a copy of the proto of `weight`, stand for the same bytes in this store."""

    def filled(self, message: Any) -> Any:
        """`message` with every weight's bytes in place."""
        return message
