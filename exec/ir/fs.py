"""The file system calls whose best form only POSIX has, each with a portable fallback."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import stat
from collections.abc import Iterator
from pathlib import Path

CHUNK = 8 << 20
_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_WRITE = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_BENEATH = os.open in os.supports_dir_fd and bool(_NOFOLLOW)
_NOT_COPYABLE = {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF, errno.EPERM, errno.ETXTBSY}


class NotRegularError(OSError):
    """A folder, pipe, device or socket where a file has to be."""


def open_file(path: str | os.PathLike[str]) -> int:
    """A descriptor of a regular file. A pipe without a writer does not block, a device is not read."""
    # Opening a device can act on it, so look before, and once more at what was opened.
    _need_regular(os.stat(path), path)
    fd = os.open(path, _READ)
    return _checked(fd, path)


def open_beneath(root: str, parts: tuple[str, ...]) -> int:
    """A descriptor of the regular file root/parts, following no link below `root`, also not one made this moment."""
    whole = os.path.join(root, *parts)
    if not _BENEATH:
        return open_file(whole)
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | getattr(os, "O_CLOEXEC", 0))
    try:
        for part in parts[:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | _NOFOLLOW | getattr(os, "O_CLOEXEC", 0), dir_fd=folder)
            os.close(folder)
            folder = inner
        _need_regular(os.stat(parts[-1], dir_fd=folder, follow_symlinks=False), whole)
        return _checked(os.open(parts[-1], _READ | _NOFOLLOW, dir_fd=folder), whole)
    finally:
        os.close(folder)


def _checked(fd: int, path: str | os.PathLike[str]) -> int:
    try:
        _need_regular(os.fstat(fd), path)
    except NotRegularError:
        os.close(fd)
        raise
    return fd


def _need_regular(status: os.stat_result, path: str | os.PathLike[str]) -> None:
    kind = kind_of(status.st_mode)
    if kind != "file":
        raise NotRegularError(errno.EINVAL, f"this is a {kind}", str(path))


def kind_of(mode: int) -> str:
    """ "file", "folder", "named pipe", "device", "socket"."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISFIFO(mode):
        return "named pipe"
    return "socket" if stat.S_ISSOCK(mode) else "device"


def read_at(fd: int, offset: int, length: int) -> bytes:
    """Up to `length` bytes from `offset`, fewer only at the end of the file."""
    if not hasattr(os, "pread"):
        os.lseek(fd, offset, os.SEEK_SET)
        return os.read(fd, length)
    data = os.pread(fd, length, offset)
    if len(data) < length and data:
        parts = [data]
        got = len(data)
        while got < length:
            part = os.pread(fd, length - got, offset + got)
            if not part:
                break
            parts.append(part)
            got += len(part)
        data = b"".join(parts)
    return data


def read_into(fd: int, offset: int, view: memoryview) -> None:
    """Fill `view` from `offset` on."""
    done = 0
    while done < len(view):
        if hasattr(os, "preadv"):
            count = os.preadv(fd, [view[done:]], offset + done)
        else:
            data = read_at(fd, offset + done, len(view) - done)
            count = len(data)
            view[done : done + count] = data
        if not count:
            raise OSError(errno.EIO, "the file became shorter while it was read")
        done += count


def map_range(fd: int, offset: int, length: int) -> memoryview:
    """A read-only view on a range of a file, through its own mapping."""
    start = offset - offset % mmap.ALLOCATIONGRANULARITY
    mapping = mmap.mmap(fd, length + offset - start, access=mmap.ACCESS_READ, offset=start)
    return memoryview(mapping)[offset - start : offset - start + length]


def copy_range(source: int, offset: int, target: int, length: int) -> None:
    """Append a range of one file to another. Holes stay holes, so that a sparse file of 100 GB is copied at once."""
    end = offset + length
    while offset < end:
        start, stop = _next_data(source, offset, end)
        if start > offset:
            os.lseek(target, start - offset, os.SEEK_CUR)
            if start == end:
                os.ftruncate(target, os.lseek(target, 0, os.SEEK_CUR))
        _copy_data(source, start, target, stop - start)
        offset = stop


def _next_data(fd: int, offset: int, end: int) -> tuple[int, int]:
    """The first part of a range that is not a hole; (end, end) if there is none."""
    if not hasattr(os, "SEEK_DATA"):
        return offset, end
    try:
        start = os.lseek(fd, offset, os.SEEK_DATA)
        return (start, min(os.lseek(fd, start, os.SEEK_HOLE), end)) if start < end else (end, end)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return end, end
        if error.errno in (errno.EINVAL, errno.EOPNOTSUPP):
            return offset, end
        raise


def _copy_data(source: int, offset: int, target: int, length: int) -> None:
    """In the kernel where it can, in chunks otherwise; never through a mapping."""
    while length:
        try:
            done = (
                os.copy_file_range(source, target, min(length, 1 << 30), offset)
                if hasattr(os, "copy_file_range")
                else 0
            )
        except OSError as error:
            if error.errno not in _NOT_COPYABLE:
                raise
            done = 0
        if not done:
            break
        offset, length = offset + done, length - done
    while length:
        data = read_at(source, offset, min(length, CHUNK))
        if not data:
            raise OSError(errno.EIO, "the file became shorter while it was read")
        write_all(target, data)
        offset, length = offset + len(data), length - len(data)


def write_all(fd: int, data: bytes | memoryview) -> None:
    """Write all of `data`; a short write goes on where it stopped."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view[:CHUNK]) :]


def sync_folder(folder: str) -> None:
    """Make a rename in `folder` survive a power cut, where folders can be synced."""
    if os.name != "posix":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(fd)


class NewFile:
    """A file being written beside its target: nameless where the system can do that, so that a killed process leaves nothing.

    fd  where to write
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self.temporary: Path | None = None
        self.fd = self._nameless()
        if self.fd < 0:
            self.temporary = self._free_name()
            self.fd = os.open(self.temporary, _WRITE | os.O_CREAT | os.O_EXCL, 0o666)

    def _nameless(self) -> int:
        flag = getattr(os, "O_TMPFILE", 0)
        if not flag or not os.path.isdir("/proc/self/fd"):
            return -1
        try:
            return os.open(self.target.parent, os.O_RDWR | flag | os.O_CLOEXEC, 0o666)
        except OSError as error:
            if (
                error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)
                and self.target.parent.is_dir()
            ):
                return -1
            raise

    def _free_name(self) -> Path:
        return self.target.with_name(f".{self.target.name[:100]}.{os.urandom(6).hex()}.tmp")

    def publish(self, replace: bool) -> None:
        """Give the finished file its name: instead of what has it if `replace`, else only if it is free."""
        if replace:
            self._keep_mode()
        os.fsync(self.fd)
        if self.temporary is None:
            place = self._free_name() if replace else self.target
            self._link(place)
            if not replace:
                self.close()
                return
            self.temporary = place
        # Windows replaces no open file.
        self._close_fd()
        if not replace and os.path.lexists(self.target):
            raise FileExistsError(errno.EEXIST, "a file of this name appeared meanwhile", str(self.target))
        os.replace(self.temporary, self.target)
        self.temporary = None

    def _keep_mode(self) -> None:
        """The new file is as readable as the one it replaces."""
        if os.name == "posix":
            with contextlib.suppress(FileNotFoundError):
                os.fchmod(self.fd, stat.S_IMODE(os.stat(self.target).st_mode))

    def _link(self, place: Path) -> None:
        """Name the nameless file. `os.link` follows the link in /proc only when it is given a folder's descriptor."""
        folder = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.link(f"/proc/self/fd/{self.fd}", place.name, dst_dir_fd=folder, follow_symlinks=True)
        finally:
            os.close(folder)

    def _close_fd(self) -> None:
        if self.fd >= 0:
            fd, self.fd = self.fd, -1
            os.close(fd)

    def close(self) -> None:
        """Drop the file unless it was published."""
        self._close_fd()
        if self.temporary is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.temporary)
            self.temporary = None


@contextlib.contextmanager
def new_file(target: Path) -> Iterator[NewFile]:
    """A `NewFile` that is gone after the block unless it was published in it."""
    file = NewFile(target)
    try:
        yield file
    finally:
        file.close()
