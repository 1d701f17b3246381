"""The page of a rule, a check, an operator or an error kind: `owb explain NAME`."""

from __future__ import annotations

import inspect
import textwrap

import onnx

from exec import errors
from exec.errors import BenchError, OptionError, nearest


def explain(name: str) -> str:
    """The page as text; raises `OptionError` with near names when nothing is called that."""
    from passes import catalog
    from quantize.findings import PAGES
    from quantize.pages import page
    from workbench.lint.catalog import BY_CODE

    rules = catalog.rules()
    if name in rules:
        return _rule(rules[name])
    if name.upper() in BY_CODE:
        cls = BY_CODE[name.upper()]
        fix = f"\n\nfix    owb optimize --passes {cls.fix}" if cls.fix else ""
        return f"{cls.code}  {cls.title}  ({cls.level})\n\n{inspect.cleandoc(cls.__doc__ or '')}{fix}"
    if name.upper() in PAGES:
        return f"{name.upper()}  {PAGES[name.upper()]}\n\n{page(name.upper())}"
    kinds = {c.kind: c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, BenchError)}
    if name in kinds:
        line = next((row for row in (errors.__doc__ or "").splitlines() if kinds[name].__name__ in row), "")
        return f"{name}: {line.partition(kinds[name].__name__)[2].strip()}"
    schemas = {s.name: s for s in onnx.defs.get_all_schemas() if not s.domain}
    if name in schemas:
        schema = schemas[name]
        return f"{name}  ai.onnx, since opset {schema.since_version}\n\n{inspect.cleandoc(schema.doc or '')}"
    known = [*rules, *BY_CODE, *PAGES, *kinds, *schemas]
    raise OptionError(
        f"nothing is called {name!r}",
        why="a rule, a check's code, an operator or an error kind is needed",
        hint=nearest(name, known),
    )


def _rule(cls: type) -> str:
    page = [f"{cls.id}  ({cls.safety.value})", "", inspect.cleandoc(cls.__doc__ or "")]  # type: ignore[attr-defined]
    for title, text in (("BEFORE", getattr(cls, "BEFORE", "")), ("AFTER", getattr(cls, "AFTER", ""))):
        if text:
            page += ["", title, textwrap.indent(textwrap.dedent(text).strip(), "    ")]
    return "\n".join(page)
