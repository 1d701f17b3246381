"""Where settings, recent files and sessions live, by the platform's own rules."""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_config_path, user_state_path


def config_dir() -> Path:
    """Settings and keymaps a person edits."""
    return user_config_path("onnx-workbench", appauthor=False)


def state_dir() -> Path:
    """What the workbench remembers: recent files, sessions."""
    return user_state_path("onnx-workbench", appauthor=False)
