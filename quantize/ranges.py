"""A calibration that was saved: ranges by tensor name, as JSON a person can read and change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from exec.errors import OptionError
from exec.sidefile import read_decoded
from quantize.report import QuantizedTensor, QuantizeReport

Ranges = Mapping[str, tuple[float, float]] | str | Path | None
MOST_BYTES = 256 << 20
"""Of a file of ranges: a range of each of a million values is 100 MB."""
KIND = "quantization-ranges"


class RangesFile(msgspec.Struct, forbid_unknown_fields=True):
    """The file's content; `method` and `data` say where the numbers are from."""

    ranges: dict[str, tuple[float, float]]
    kind: str = KIND
    version: int = 1
    method: str = ""
    data: str = ""


def save_ranges(report: QuantizeReport, path: str | Path) -> None:
    """Write the ranges a quantization chose; `quantize(ranges=path)` takes them instead of measuring."""
    write_ranges(report.tensors, path, report.method, report.data)


def write_ranges(tensors: Sequence[QuantizedTensor], path: str | Path, method: str, data: str) -> None:
    """The same of a calibration by itself."""
    content = RangesFile({t.name: (t.low, t.high) for t in tensors}, method=method, data=data)
    Path(path).write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")


def source_of(source: Ranges) -> str:
    """Where ranges that were given are from, for the report; "" without any."""
    if not source:
        return ""
    if isinstance(source, Mapping):
        return "ranges given by the caller"
    content = _read(source)
    made = "; ".join(part for part in (content.method, content.data) if part)
    return f"ranges of {Path(source).name}" + (f" ({made})" if made else "")


def _read(source: str | Path) -> RangesFile:
    where = str(source)
    try:
        content = read_decoded(source, lambda data: msgspec.json.decode(data, type=RangesFile), most=MOST_BYTES)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise OptionError("saved ranges cannot be read", where, str(error), "write them with --save-ranges") from None
    if content.kind != KIND or content.version != 1:
        raise OptionError(
            f"{content.kind!r} version {content.version} is no file of ranges", where, f"{KIND!r} version 1 is read"
        )
    return content


def load_ranges(source: Ranges) -> dict[str, tuple[float, float]]:
    """{tensor: (low, high)} from a mapping or a file."""
    if source is None or isinstance(source, Mapping):
        found = {name: (float(low), float(high)) for name, (low, high) in (source or {}).items()}
        where = ""
    else:
        where, found = str(source), _read(source).ranges
    for name, (low, high) in found.items():
        if not low <= high or low in (float("-inf"), float("inf")) or high == float("inf"):
            raise OptionError(
                f"the range of '{name}' is [{low}, {high}]", where, "two finite numbers are needed, the smaller first"
            )
    return found
