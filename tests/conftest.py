"""What holds for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from exec.kernels import registry


@pytest.fixture(autouse=True)
def _kernels_of_ones_own_end_with_the_test() -> Iterator[None]:
    """Guides and `--kernels` register theirs for the process; the next test knows nothing of them."""
    yield
    for key, versions in list(registry._kernels.items()):
        own = [entry for entry in versions if entry.function.__module__.startswith("exec.")]
        if len(own) < len(versions):
            registry._kernels[key] = own
        if not own:
            del registry._kernels[key]
