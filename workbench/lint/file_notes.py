"""OWB000: what the opener remarked."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.lint.base import Check, Finding, Level, Subject


class FileNotes(Check):
    """Remarks made while the file was opened.

    What   The file breaks a rule that does not keep it from being opened: duplicate names, a newer opset, unsorted nodes.
    Why    Other tools may refuse it or read it differently.
    Fix    The remark says what.
    """

    code, title, level = "OWB000", "the file is odd", "warning"

    def look(self, subject: Subject) -> Iterator[Finding]:
        for note in subject.model.notes:
            level: Level = "error" if note.is_error else "warning"
            yield Finding(self.code, level, note.where, f"{note.message} ({note.code})", note.hint)
