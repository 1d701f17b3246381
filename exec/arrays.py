"""The array type of the whole house."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Value = Any
"""What flows along an edge at run time: an Array, list (sequence), dict (map) or None (empty optional)."""
