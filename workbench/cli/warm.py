"""owb warm: compile the fast kernels now, once."""

from __future__ import annotations

import click

from workbench.cli.options import format_options
from workbench.cli.output import emit, progress_bar, say


@click.command()
@format_options
def command(format: str) -> None:
    """Compile every kernel of the extra [jit] and keep it on disk: later processes only read it.

    Without `owb warm` the first run of each kind of layer compiles its kernel, before anything is timed. An update of this package, of numba
    or another CPU needs it again.
    """
    from exec.compiled import available
    from exec.errors import EngineMissing
    from workbench.render.warming import warmed_table

    if not available():
        raise EngineMissing("there are no kernels to compile without numba", hint="pip install 'onnx-workbench[jit]'")
    from exec.compiled.warming import warm

    with progress_bar() as progress:
        result = warm(progress)
    if not result.folder:
        say("nothing can be written to the cache folder: set OWB_CACHE_DIR, or every process compiles anew")
    emit(result, "warm", [warmed_table(result)], format)
