"""Write the pages that come from code: docs/commands.md, docs/passes.md, docs/checks.md, docs/findings.md. `--check` fails when one is not fresh."""

from __future__ import annotations

import inspect
import sys
import textwrap
from pathlib import Path

import click

HERE = Path(__file__).resolve().parent
HEAD = "<!-- Written by docs/build.py from the code: change the docstrings, then run `make docs`. -->\n\n"


def commands() -> str:
    """Every command's help as its page."""
    from workbench.cli.group import COMMANDS, owb

    out = [
        HEAD
        + "# Commands\n\n`owb MODEL` opens the terminal UI; without a terminal it prints `owb inspect MODEL`. Exit 0 ok, 1 findings or differences, 2 refused.\n"
        + '\nCompletion for bash (zsh, fish alike): `eval "$(_OWB_COMPLETE=bash_source owb)"`. It offers rule ids and node names, too.\n'
    ]
    context = click.Context(owb, info_name="owb")
    for group, names in COMMANDS.items():
        out.append(f"## {group.capitalize()}\n")
        for name in names:
            command = owb.get_command(context, name)
            assert command is not None
            with click.Context(command, info_name=f"owb {name}", max_content_width=100, terminal_width=100) as own:
                out.append(f"### owb {name}\n\n```text\n{command.get_help(own)}\n```\n")
    return "\n".join(out)


def passes() -> str:
    """Every rule's docstring and its BEFORE and AFTER."""
    from passes import catalog

    rules = catalog.rules()
    out = [
        HEAD
        + f"# Rewrites\n\n{len(rules)} rules, in the order they run. EXACT keeps every bit, ROUNDING computes the same reals in another order, APPROXIMATE names its bound.\n"
    ]
    for name, cls in rules.items():
        out.append(f"## {name}\n\n{cls.safety.name}\n\n```text\n{inspect.cleandoc(cls.__doc__ or '')}\n```\n")
        for title, text in (("BEFORE", cls.BEFORE), ("AFTER", cls.AFTER)):
            if text:
                out.append(f"{title}\n\n```text\n{textwrap.dedent(text).strip()}\n```\n")
    return "\n".join(out)


LEVELS = """| level | means | `owb check` |
|---|---|---|
| error | it is wrong: it fails, or computes what was not meant | exit 1 |
| warning | it is likely to hurt: it fails or is slow in some runtimes | exit 1 |
| note | good to know, wrong nowhere | exit 0 |

`--fail-on` moves the line. `--fix -o FILE` applies the rewrites that findings name, verified, and `--diff` shows them.
"""


def checks() -> str:
    """Every check's page."""
    from workbench.lint.catalog import CHECKS

    out = [HEAD + "# Checks\n\n" + LEVELS]
    for cls in CHECKS:
        fix = f"\nRepaired by `owb optimize --passes {cls.fix}`.\n" if cls.fix else ""
        out.append(
            f"## {cls.code} {cls.title}\n\n{cls.level}\n\n```text\n{inspect.cleandoc(cls.__doc__ or '')}\n```\n{fix}"
        )
    return "\n".join(out)


def findings() -> str:
    """Every finding of `owb quantize`."""
    from quantize.findings import PAGES as TITLES
    from quantize.pages import page

    out = [HEAD + "# Findings of a quantization\n\n`owb explain CODE` prints the same.\n"]
    out += [f"## {code} {TITLES[code]}\n\n```text\n{page(code)}\n```\n" for code in sorted(TITLES)]
    return "\n".join(out)


PAGES = {"commands.md": commands, "passes.md": passes, "checks.md": checks, "findings.md": findings}


def main(arguments: list[str]) -> int:
    """Write the pages, or say which are not fresh."""
    stale = []
    for name, make in PAGES.items():
        path, text = HERE / name, make().rstrip() + "\n"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in arguments:
                path.write_text(text, encoding="utf-8")
    print(("not fresh: " if "--check" in arguments else "written: ") + (", ".join(stale) or "nothing"))
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
