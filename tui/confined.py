"""A process that opens nothing outside one folder: what a page in a browser may make the workbench do.

An audit hook sees every open, listing, move and start of a program, whoever asks for it. It cannot be taken away again, so only the
process behind a page has one.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_DEVICES = (
    "/dev/null",
    "/dev/urandom",
    "/dev/tty",
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys/devices",
    "/sys/fs/cgroup",
)
_READS = ("os.listdir", "os.scandir")
_WRITES = ("os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.chmod", "os.chown", "os.utime", "shutil.rmtree")
_MOVES = ("os.rename", "os.link", "os.symlink", "shutil.move", "shutil.copyfile")
_STARTS = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "os.forkpty",
    "os.startfile",
    "pty.spawn",
)
_NETWORK = ("socket.connect", "socket.bind", "socket.sendto", "urllib.Request")


class Confines:
    """What may be read and written.

    folder   the model's: read, and written where `write` says so
    caches   written as well: compiled kernels
    """

    def __init__(self, folder: str | Path, *, write: bool = False, caches: Iterable[str | Path] = ()) -> None:
        self.folder, self.write = os.path.realpath(folder), write
        own = [os.path.realpath(path) for path in caches]
        code = {os.path.realpath(path) for path in (*sys.path, sys.prefix, sys.base_prefix, *_libraries()) if path}
        self._written = [*own, *([self.folder] if write else [])]
        self._read = [self.folder, *own, *sorted(code), *_DEVICES]

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        """An audit hook: raises PermissionError for what is outside."""
        if event == "open":
            path, mode, flags = arguments
            writes = (
                bool(flags & _WRITING) if isinstance(flags, int) and flags else bool(set(mode or "r") & set("wax+"))
            )
            self._ask(path, writes)
        elif event in _READS:
            self._ask(arguments[0], False)
        elif event in _WRITES:
            self._ask(arguments[0], True)
        elif event in _MOVES:
            for path in arguments[:2]:
                self._ask(path, True)
        elif event in _STARTS or event in _NETWORK:
            raise PermissionError(f"a page starts no program and opens no connection ({event})")

    def _ask(self, path: Any, writes: bool) -> None:
        if isinstance(path, int):  # opened already, and asked about then
            return
        where = os.path.realpath(os.fsdecode(path)) if path is not None else os.getcwd()
        inside = any(_is_below(where, root) for root in (self._written if writes else self._read))
        if not inside and not (writes and where == "/dev/null"):
            kind = "written" if writes else "read"
            reason = f"this page is read-only: `owb serve --write` lets it save in {self.folder}"
            outside = f"only {self.folder} is open to this page"
            raise PermissionError(f"{where} is not {kind}: {reason if writes and not self.write else outside}")


def confine(confines: Confines) -> Callable[[str, tuple[Any, ...]], None]:
    """Put this process into its confines, for good."""
    sys.addaudithook(confines.hook)
    return confines.hook


def _libraries() -> list[str]:
    """Where interpreters and shared libraries look for their parts, and terminals for theirs."""
    paths = [path for path in sysconfig.get_paths().values() if path]
    return [
        *paths,
        "/usr/lib",
        "/lib",
        "/lib64",
        "/usr/share/terminfo",
        "/etc/ld.so.cache",
        "/etc/localtime",
        "/usr/share/zoneinfo",
    ]


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def scratch() -> str:
    """A temporary folder of this process, for libraries that need one."""
    return tempfile.mkdtemp(prefix="owb-page-")
