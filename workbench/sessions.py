"""What outlives a session: the files opened last, how far the work went, and keys of one's own. Data only, checked when read."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import platformdirs

from exec.sidefile import read_decoded

MOST = 20


class Recent(msgspec.Struct, forbid_unknown_fields=True):
    """One file.

    steps    what was done to it and not thrown away: options as a recipe keeps them
    screens  how each screen was left: its face, order, filter and folds
    """

    path: str
    file_bytes: int
    opened: float
    result: str = ""
    steps: list[dict[str, object]] = []
    screens: dict[str, dict[str, object]] = {}


class Sessions(msgspec.Struct, forbid_unknown_fields=True):
    """The newest first."""

    version: int = 1
    recent: list[Recent] = []


def state_path() -> Path:
    """Where sessions are kept."""
    return platformdirs.user_state_path("onnx-workbench") / "sessions.json"


def keymap_path() -> Path:
    """Where a keymap of one's own lies: TOML, `"history.undo" = "u"`."""
    return platformdirs.user_config_path("onnx-workbench") / "keymap.toml"


def read_sessions() -> Sessions:
    """What is kept; a file that cannot be read or is not ours counts as empty."""
    try:
        return read_decoded(state_path(), lambda data: msgspec.json.decode(data, type=Sessions))
    except (OSError, msgspec.DecodeError):
        return Sessions()


def last_of(path: Path) -> Recent | None:
    """How a file was left the last time."""
    whole = str(path.resolve())
    return next((r for r in read_sessions().recent if r.path == whole), None)


def remember(
    path: Path,
    file_bytes: int,
    result: str = "",
    steps: list[dict[str, object]] | None = None,
    screens: dict[str, dict[str, object]] | None = None,
) -> None:
    """Put a file first."""
    sessions = read_sessions()
    whole = str(path.resolve())
    entry = Recent(whole, file_bytes, time.time(), result, steps or [], screens or {})
    sessions.recent = [entry, *(r for r in sessions.recent if r.path != whole)][:MOST]
    target = state_path()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_suffix(".part")
        part.write_bytes(msgspec.json.encode(sessions))
        part.replace(target)
    except OSError:
        return  # a read-only home keeps no history


def read_keymap() -> tuple[dict[str, str], str]:
    """(action id → keys, what is wrong with the file or "")."""
    try:
        return read_decoded(keymap_path(), lambda data: msgspec.toml.decode(data, type=dict[str, str])), ""
    except FileNotFoundError:
        return {}, ""
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        return {}, f"{keymap_path()}: {error}"
