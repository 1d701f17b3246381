"""Metadata and doc strings of graph elements, read from the attached proto until somebody changes them."""

from __future__ import annotations

from typing import Any

from exec.ir.names import copy_of, set_text, text

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


def describe(element: Any, out: Any) -> None:
    """Write an edited doc string and edited metadata; keys keep the file's order, also where one occurs twice."""
    doc = getattr(element, "_doc", None)
    if doc is not None and doc != text(out.doc_string):
        set_text(out, "doc_string", doc)
    metadata = getattr(element, "_metadata", None)
    if metadata is None or metadata == {text(e.key): text(e.value) for e in out.metadata_props}:
        return
    kept = [copy_of(entry) for entry in out.metadata_props if text(entry.key) in metadata]
    out.ClearField("metadata_props")
    for entry in kept:
        set_text(entry, "value", metadata[text(entry.key)])
        out.metadata_props.append(entry)
    known = {text(entry.key) for entry in kept}
    for key, value in metadata.items():
        if key not in known:
            entry = out.metadata_props.add()
            set_text(entry, "key", key)
            set_text(entry, "value", value)
