"""Ufuncs numpy has but does not offer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

clip_ufunc: Callable[..., Any] = getattr(getattr(np, "_core", np).umath, "clip", np.clip)
"""The ufunc behind `np.clip`: a bounded clip without the wrapper's microsecond, and four times as fast as a scalar maximum."""
