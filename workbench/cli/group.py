"""`owb`: the list of commands, found by name and imported on use."""

from __future__ import annotations

import importlib
import os
import sys

import click

import workbench
from exec.errors import nearest

COMMANDS: dict[str, tuple[str, ...]] = {
    "look": ("inspect", "nodes", "tensors", "show", "graph"),
    "change": ("infer-shapes", "convert", "optimize", "quantize", "calibrate", "edit"),
    "prove": ("check", "coverage", "verify", "run", "profile", "sensitivity", "compare", "diff", "bisect", "reduce"),
    "more": ("recipe", "batch", "report", "test-rules", "explain", "list", "warm", "demo"),
}
"""Built-in commands by what they are for: each is `workbench.cli.<name>:command`."""

_BUILT_IN = {name for names in COMMANDS.values() for name in names}
_ENTRY_POINTS = "workbench.commands"


class Commands(click.Group):
    """Imports a command's module when it is asked for; installed packages add more by the entry point `workbench.commands`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [n for names in COMMANDS.values() for n in names] + sorted(_plugins())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _BUILT_IN:
            module = importlib.import_module(f"workbench.cli.{cmd_name.replace('-', '_')}")
            command = module.command
        else:
            plugin = _plugins().get(cmd_name)
            if plugin is None:
                return None
            command = plugin.load()
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """`owb MODEL` is `owb tui MODEL` on a terminal and `owb inspect MODEL` elsewhere."""
        first = args[0]
        if (command := meant(first)) != first:
            args = [command, *args]
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            hint = nearest(first, self.list_commands(ctx))
            raise click.UsageError(
                f"no command {first!r}, and no file of that name{'; ' + hint if hint else ''}", ctx
            ) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups = {**COMMANDS, "added": tuple(sorted(set(_plugins()) - _BUILT_IN))}
        for title, names in groups.items():
            rows = [(n, _purpose(c)) for n in names if (c := self.get_command(ctx, n)) is not None]
            if rows:
                with formatter.section(title.capitalize()):
                    formatter.write_dl(rows)


def _purpose(command: click.Command) -> str:
    """What a command is for: the first line of its module, behind the colon."""
    module = sys.modules[command.callback.__module__] if command.callback is not None else None
    line = ((module.__doc__ if module is not None else None) or "").partition("\n")[0]
    return line.partition(": ")[2].rstrip(".")


def _plugins() -> dict[str, importlib.metadata.EntryPoint]:
    import importlib.metadata

    return {e.name: e for e in importlib.metadata.entry_points(group=_ENTRY_POINTS)}


def meant(first: str) -> str:
    """The command a first word stands for: a file is opened on a terminal and inspected elsewhere; any other word is itself."""
    if first in _BUILT_IN or not _looks_like_a_file(first) or first in _plugins():
        return first
    return "tui" if sys.stdin.isatty() and sys.stdout.isatty() else "inspect"


def _looks_like_a_file(argument: str) -> bool:
    return not argument.startswith("-") and (
        os.sep in argument or argument.endswith(".onnx") or os.path.exists(argument)
    )


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(workbench.__version__, "-V", "--version", prog_name="owb", message="%(prog)s %(version)s")
def owb() -> None:
    """See, rewrite, quantize and prove ONNX models.

    `owb MODEL` opens the terminal UI; without a terminal it prints `owb inspect MODEL`.
    """
