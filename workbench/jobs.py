"""The long computations by name, so that they can run here or in another process: `run(name, models, options)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from exec.ir import Model
from exec.progress import Cancel, Progress


def _profile(models: Sequence[Model], progress: Progress | None, cancel: Cancel | None, *, dims: dict[str, int], inputs: str | None = None, **options: Any) -> Any:  # fmt: skip
    import workbench
    from workbench.feeding import feeds_for

    feeds = feeds_for(models[0], inputs, dims=dims).values if inputs or dims else None
    return workbench.profile(models[0], feeds, progress=progress, cancel=cancel, **options)


def _compare(models: Sequence[Model], progress: Progress | None, cancel: Cancel | None, *, inputs: str | None = None, **options: Any) -> Any:  # fmt: skip
    import workbench
    from workbench.feeding import feeds_for

    feeds = feeds_for(models[0], inputs).values if inputs else None
    return workbench.compare(models[0], models[1], feeds, progress=progress, cancel=cancel, **options)


def _quantize(models: Sequence[Model], progress: Progress | None, cancel: Cancel | None, **options: Any) -> Any:
    import workbench

    return workbench.quantize(models[0], progress=progress, cancel=cancel, **options)


def _sensitivity(models: Sequence[Model], progress: Progress | None, cancel: Cancel | None, **options: Any) -> Any:
    from quantize.sensitivity import sensitivity

    return sensitivity(models[0], progress=progress, cancel=cancel, **options)


def _activations(models: Sequence[Model], progress: Progress | None, cancel: Cancel | None, **options: Any) -> Any:
    from workbench.activations import computed

    return computed(models[0], progress=progress, cancel=cancel, **options)


_JOBS: dict[str, Callable[..., Any]] = {
    "profile": _profile,
    "compare": _compare,
    "quantize": _quantize,
    "sensitivity": _sensitivity,
    "activations": _activations,
}


def run(
    name: str,
    models: Sequence[Model],
    options: dict[str, Any],
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Any:
    """Do one of the jobs on its models."""
    return _JOBS[name](models, progress, cancel, **options)
