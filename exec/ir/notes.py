"""What is odd or wrong about a file."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Note:
    """One oddity.

    code      a short stable word: "dangling-value", "duplicate-name", "newer-opset"
    where     the element: "value 'x'", "node 'Conv_3'", "model"
    message   one sentence
    hint      the next step, if there is one
    is_error  the model breaks the specification: a strict `load` refuses it
    """

    code: str
    where: str
    message: str
    is_error: bool = False
    hint: str = ""


@dataclass(slots=True)
class Findings:
    """The notes of one import. Of one code only the first few are kept: a file can break a rule in every node."""

    notes: list[Note] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def note(self, code: str, where: str, message: str) -> None:
        """Something odd: the model can be used."""
        self.add(Note(code, where, message))

    def error(self, code: str, where: str, message: str, hint: str = "") -> None:
        """Something against the specification."""
        self.add(Note(code, where, message, True, hint))

    def add(self, note: Note) -> None:
        """Keep a note."""
        count = self.counts[note.code] = self.counts.get(note.code, 0) + 1
        if count <= KEPT_PER_CODE:
            self.notes.append(note)


KEPT_PER_CODE = 20
