"""Tables as CSV: raw values, keys as heading."""

from __future__ import annotations

import csv
import io

from workbench.render.json import to_builtins
from workbench.render.table import Table


def to_csv(table: Table) -> str:
    """RFC 4180 with one heading line; a missing value is empty; a text that a spreadsheet would run is quoted with an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([c.key for c in table.columns])
    for row in table.rows:
        writer.writerow([_cell(to_builtins(v)) for v in row])
    return out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, list):
        return "x".join("?" if v is None else str(v) for v in value)
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + value
    return "" if value is None else value
