"""Every action of the UI: its id, keys, what help calls it, and what it says when it cannot be done."""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding


@dataclass(frozen=True, slots=True)
class Action:
    """One action.

    id     "history.undo": what keymap files and help name
    keys   Textual key names, the first is shown
    text   a verb for the footer and the palette
    group  heading in help
    """

    id: str
    keys: str
    text: str
    group: str

    @property
    def key(self) -> str:
        """The first key as a person sees it."""
        return shown_key(self.keys.split(",")[0])


_SHOWN = {
    "left_square_bracket": "[", "right_square_bracket": "]", "colon": ":", "question_mark": "?", "apostrophe": "'", "slash": "/", "asterisk": "*",
    "plus": "+", "minus": "−", "equals_sign": "=", "escape": "esc",
}  # fmt: skip


def shown_key(name: str) -> str:
    """ "question_mark" → "?"."""
    return _SHOWN.get(name, name)


SCREENS = ("overview", "graph", "tensors", "passes", "quantize", "profile", "compare", "checks", "log")

ACTIONS: tuple[Action, ...] = (
    *(Action(f"go.{name}", str(k + 1), name.capitalize(), "go") for k, name in enumerate(SCREENS)),
    Action("pane.next", "tab", "next pane", "go"),
    Action("pane.previous", "shift+tab", "previous pane", "go"),
    Action("out.step", "escape", "one step out", "go"),
    Action("jump.back", "left_square_bracket,backspace", "back", "go"),
    Action("jump.letters", "apostrophe", "jump to a letter", "go"),
    Action("jump.forward", "right_square_bracket", "forward", "go"),
    Action("palette.open", "colon,ctrl+p", "commands", "go"),
    Action("help.open", "question_mark", "all keys", "go"),
    Action("move.down", "down,j", "down", "move"),
    Action("move.up", "up,k", "up", "move"),
    Action("move.left", "left,h", "close, left", "move"),
    Action("move.right", "right,l", "open, right", "move"),
    Action("move.first", "home,g", "first", "move"),
    Action("move.last", "end,G", "last", "move"),
    Action("move.page-down", "pagedown,ctrl+d", "page down", "move"),
    Action("move.page-up", "pageup,ctrl+u", "page up", "move"),
    Action("open.row", "enter", "open", "move"),
    Action("find.filter", "slash", "filter", "find"),
    Action("find.next", "n", "next hit", "find"),
    Action("find.previous", "N", "previous hit", "find"),
    Action("sort.next", "s", "sort by the next column", "find"),
    Action("sort.reverse", "S", "reverse the order", "find"),
    Action("face.next", "t", "next face", "measure"),
    Action("measure.next", "c", "next measure", "measure"),
    Action("measure.choose", "C", "choose the measure", "measure"),
    Action("pane.full", "f", "pane full size", "measure"),
    Action("fold.chain", "e", "fold or unfold", "measure"),
    Action("fold.all", "E", "fold or unfold all", "measure"),
    Action("amount.more", "plus", "one more", "measure"),
    Action("amount.less", "minus", "one fewer", "measure"),
    Action("mark.toggle", "space", "mark", "mark"),
    Action("mark.range", "v", "mark a range", "mark"),
    Action("mark.alike", "asterisk", "mark all alike", "mark"),
    Action("bookmark.toggle", "m", "bookmark", "mark"),
    Action("jump.producer", "i", "producer", "graph"),
    Action("jump.reader", "o", "readers", "graph"),
    Action("change.apply", "a", "apply", "change"),
    Action("change.apply-all", "A", "apply all ready: optimize", "change"),
    Action("plan.to-target", "equals_sign", "to target", "change"),
    Action("history.undo", "z", "undo", "change"),
    Action("history.redo", "Z", "redo", "change"),
    Action("slot.next", "b", "A, B, A→B", "change"),
    Action("slot.choose", "B", "choose A and B", "change"),
    Action("explain.open", "d", "why, page", "change"),
    Action("run.now", "r", "run", "run"),
    Action("run.options", "R", "options of the run", "run"),
    Action("job.cancel", "ctrl+c", "stop", "run"),
    Action("copy.name", "y", "copy name", "out"),
    Action("copy.as", "Y", "copy as a command, Python, JSON", "out"),
    Action("out.export", "x", "export this", "out"),
    Action("out.save", "w,ctrl+s", "save", "out"),
    Action("file.open", "O", "open a file", "out"),
    Action("session.resume", "", "resume: do the last session's steps again", "out"),
    Action("session.recipe", "", "recipe: run a file's steps on B", "out"),
    Action("session.reload", "", "reload the file as A", "out"),
    Action("app.quit", "q,ctrl+q", "quit", "out"),
    Action("app.suspend", "ctrl+z", "suspend", "out"),
    Action("app.redraw", "ctrl+l", "redraw", "out"),
)
BY_ID = {a.id: a for a in ACTIONS}


def bindings() -> list[Binding]:
    """All actions as Textual bindings; each can be remapped by its id."""
    return [Binding(a.keys, f"act('{a.id}')", a.text, id=a.id, show=False, priority=False) for a in ACTIONS if a.keys]
