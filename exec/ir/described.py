"""Metadata and doc strings of graph elements, read from the attached proto until somebody changes them."""

from __future__ import annotations

from typing import Any

from exec.ir.names import text

_set = object.__setattr__


class Described:
    """Metadata and a doc string, read from the attached proto until somebody asks for them."""

    _metadata: dict[str, str] | None = None
    _doc: str | None = None

    def _proto(self) -> Any:
        return None

    @property
    def metadata(self) -> dict[str, str]:
        """The `metadata_props`, to read and to change. Of keys that occur twice in a file, the last value."""
        if self._metadata is None:
            proto = self._proto()
            _set(self, "_metadata", {} if proto is None else {text(e.key): text(e.value) for e in proto.metadata_props})
        assert self._metadata is not None
        return self._metadata

    @metadata.setter
    def metadata(self, entries: dict[str, str]) -> None:
        _set(self, "_metadata", dict(entries))

    @property
    def doc_string(self) -> str:
        if self._doc is not None:
            return self._doc
        proto = self._proto()
        return "" if proto is None else text(proto.doc_string)

    @doc_string.setter
    def doc_string(self, text: str) -> None:
        _set(self, "_doc", text)
