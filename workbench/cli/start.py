"""From argv to an exit code: 0 ok, 1 findings or differences, 2 usage, unreadable or refused, 130 interrupted."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from exec.errors import BenchError
from workbench.cli.failure import show
from workbench.cli.group import owb


def run(arguments: Sequence[str]) -> int:
    """Run one command line; raises nothing that a bad file or a bad argument can cause."""
    _speak_utf8_or_escape()
    try:
        code = owb.main(list(arguments), prog_name="owb", standalone_mode=False)
    except BenchError as error:
        show(error)
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return 2
    except click.exceptions.Exit as stop:
        return int(stop.exit_code)
    except (KeyboardInterrupt, click.Abort):
        click.echo("owb: interrupted", err=True)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader left: nothing more to say
        return 0
    except MemoryError:
        files = ", ".join(_read(arguments))
        hint = "a smaller input, or `--dim NAME=N` with a smaller N"
        show(BenchError("not enough memory for this model", f"file {files}" if files else "", hint=hint))
        return 2
    except Exception as error:
        if os.environ.get("OWB_DEBUG"):
            raise
        show(
            BenchError(
                f"defect: {type(error).__name__}: {error}",
                hint="OWB_DEBUG=1 shows where; please report it with the output of `owb inspect`",
            )
        )
        return 2
    return code if isinstance(code, int) else 0


def _read(arguments: Sequence[str]) -> list[str]:
    """The files a command line reads: every word that is one, but not where its result goes."""
    before = ["", *arguments]
    return [
        a
        for a, option in zip(arguments, before, strict=False)
        if option not in ("-o", "--output") and os.path.isfile(a)
    ]


def _speak_utf8_or_escape() -> None:
    """A terminal that is not UTF-8 gets `\\u2026` instead of an exception."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
