"""owb serve: the workbench in a browser."""

from __future__ import annotations

import os
import shlex
import socket
import sys

import click

from exec.errors import EngineMissing, OptionError

HOST = "127.0.0.1"


@click.command()
@click.argument("model", metavar="MODEL", type=click.Path())
@click.option("--port", type=click.IntRange(1, 65535), default=8000, show_default=True, help="Port on 127.0.0.1.")
@click.option("--write", is_flag=True, help="Let the page save beside the model. Without it nothing is written.")
@click.option(
    "--public-url", metavar="URL", help="The address a browser sees, where a tunnel or proxy stands in between."
)
@click.option(
    "--theme", type=click.Choice(["owb-dark", "owb-light"]), default="owb-dark", show_default=True, help="Colours."
)
def serve(model: str, port: int, write: bool, public_url: str | None, theme: str) -> int:
    """Show MODEL in a browser: the same screens, on 127.0.0.1 only, for whoever has the printed address.

    A page reads MODEL's folder and nothing else, starts no program, and writes only with --write. Ctrl+C ends it.
    Needs the extra [web]. For another machine: `ssh -L 8000:127.0.0.1:8000 there owb serve MODEL`.
    """
    try:
        from tui.webguard import GuardedServer
    except ImportError as error:
        raise EngineMissing(
            "`owb serve` needs textual-serve", why=str(error), hint="pip install 'onnx-workbench[web]'"
        ) from error
    import workbench

    if public_url is not None and not public_url.startswith(("http://", "https://")):
        raise OptionError(f"--public-url {public_url!r} is no address", hint="for example https://models.example:8443")
    workbench.load(model)  # what cannot be opened is said here, not on a page
    _ask_for(port)
    words = [
        sys.executable,
        "-P",
        "-m",
        "tui.served",
        model,
        "--server",
        str(os.getpid()),
        "--theme",
        theme,
        *(["--write"] if write else []),
    ]
    server = GuardedServer(shlex.join(words), HOST, port, f"owb {model}", (public_url or "").rstrip("/") or None)
    click.echo(server.address)
    click.echo("Whoever has this address can look at the model's folder. Ctrl+C ends it.", err=True)
    server.serve()
    return 0


def _ask_for(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise OptionError(
                f"port {port} cannot be had", HOST, str(error), f"another one: --port {port + 1}"
            ) from error
