"""Every check, in the order of its code."""

from __future__ import annotations

from workbench.lint.anonymous_dims import AnonymousDims
from workbench.lint.base import Check
from workbench.lint.constant_nodes import ConstantNodes
from workbench.lint.dead_nodes import DeadNodes
from workbench.lint.denormals import Denormals
from workbench.lint.duplicate_weights import DuplicateWeights
from workbench.lint.file_notes import FileNotes
from workbench.lint.float64 import Float64
from workbench.lint.foreign_ops import ForeignOps
from workbench.lint.leftovers import Leftovers
from workbench.lint.missing_data import MissingData
from workbench.lint.names import NodeNames
from workbench.lint.nonfinite_weights import NonfiniteWeights
from workbench.lint.old_opset import OldOpset
from workbench.lint.pinned_dims import PinnedDims
from workbench.lint.quantization_scales import QuantizationScales
from workbench.lint.training_mode import TrainingMode
from workbench.lint.uniform_weights import UniformWeights

CHECKS: tuple[type[Check], ...] = (
    FileNotes,
    Float64,
    NonfiniteWeights,
    ConstantNodes,
    Denormals,
    DuplicateWeights,
    UniformWeights,
    DeadNodes,
    NodeNames,
    AnonymousDims,
    PinnedDims,
    OldOpset,
    ForeignOps,
    QuantizationScales,
    TrainingMode,
    MissingData,
    Leftovers,
)
BY_CODE = {c.code: c for c in CHECKS}
