"""Every rewrite, in order. Order is meaning: what stands first is tried first, and a stage is finished before the next begins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from exec.errors import OptionError, nearest
from passes.base import Rewrite, Safety
from passes.rules.contrib.fused_conv import FuseConvActivation
from passes.rules.contrib.fused_matmul import FuseTransposeIntoMatMul
from passes.rules.contrib.gelu import FuseContribGelu, FuseQuickGelu
from passes.rules.contrib.multi_head import FuseMultiHeadAttention
from passes.rules.contrib.skip_norm import FuseSkipLayerNorm
from passes.rules.eliminate.dropout import EliminateDropout
from passes.rules.eliminate.empty_concat import EliminateEmptyConcatInput
from passes.rules.eliminate.idempotent import EliminateIdempotent
from passes.rules.eliminate.identity import EliminateIdentity
from passes.rules.eliminate.involution import EliminateInvolution
from passes.rules.eliminate.neutral import EliminateNeutral
from passes.rules.eliminate.noop_cast import EliminateNoopCast
from passes.rules.eliminate.noop_clip import EliminateNoopClip
from passes.rules.eliminate.noop_pad import EliminateNoopPad
from passes.rules.eliminate.noop_reduce import EliminateNoopReduce
from passes.rules.eliminate.noop_resize import EliminateNoopResize
from passes.rules.eliminate.noop_scatter import EliminateNoopScatter
from passes.rules.eliminate.noop_shape import EliminateNoopReshape
from passes.rules.eliminate.noop_slice import EliminateNoopSlice
from passes.rules.eliminate.noop_transpose import EliminateNoopTranspose
from passes.rules.eliminate.same_choice import EliminateSameChoice
from passes.rules.eliminate.single_input import EliminateSingleInput
from passes.rules.fold.constants import FoldConstants
from passes.rules.fold.filled import FoldFilled
from passes.rules.fold.inline_function import InlineFunction
from passes.rules.fold.inline_if import InlineIf
from passes.rules.fold.lift_constants import LiftConstants
from passes.rules.fold.only_branch import InlineOnlyBranch
from passes.rules.fold.reshape_target import FoldReshapeTarget
from passes.rules.fold.shapes import FoldShapes
from passes.rules.fold.unroll_loop import UnrollLoop
from passes.rules.fuse.attention import FuseAttention
from passes.rules.fuse.attention_heads import FuseAttentionHeads
from passes.rules.fuse.before_conv import FuseBeforeConv
from passes.rules.fuse.before_matmul import FuseBeforeMatMul
from passes.rules.fuse.bn_affine import FuseBatchNormAffine
from passes.rules.fuse.cast_chain import FuseCastChain
from passes.rules.fuse.clip import FuseClip
from passes.rules.fuse.concat_chain import FuseConcatChain
from passes.rules.fuse.concat_constants import FuseConcatConstants
from passes.rules.fuse.concat_of_split import FuseConcatOfSplit
from passes.rules.fuse.constant_chain import FuseConstantChain
from passes.rules.fuse.conv_add import FuseConvAdd
from passes.rules.fuse.conv_bn import FuseConvBatchNorm
from passes.rules.fuse.conv_mul import FuseConvMul
from passes.rules.fuse.depth_space import FuseDepthToSpace, FuseSlicesToSpaceToDepth
from passes.rules.fuse.einsum import ReplaceEinsum
from passes.rules.fuse.expand_binary import FuseExpandIntoBroadcast
from passes.rules.fuse.gather_conv import FuseChannelOrderIntoConv
from passes.rules.fuse.gather_unsqueeze import FuseGatherUnsqueeze
from passes.rules.fuse.gelu import FuseGelu
from passes.rules.fuse.gemm_affine import FuseGemmAffine
from passes.rules.fuse.group_norm import FuseGroupNorm
from passes.rules.fuse.hard_sigmoid import FuseHardSigmoid
from passes.rules.fuse.hard_swish import FuseHardSigmoidMul, FuseHardSwish
from passes.rules.fuse.instance_norm import FuseInstanceNorm, FuseInstanceNormAffine
from passes.rules.fuse.layer_norm import FuseLayerNorm, FuseRMSNorm
from passes.rules.fuse.log_softmax import EliminateMonotoneBeforeArg, FuseLogSoftmax
from passes.rules.fuse.lp_norm import FuseLpNorm
from passes.rules.fuse.matmul_add import FuseMatMulAdd
from passes.rules.fuse.matmul_affine import FuseMatMulAffine
from passes.rules.fuse.mul_through_add import FuseScaleIntoBiasedMatMul
from passes.rules.fuse.negation import FuseNegation
from passes.rules.fuse.norm_affine import FuseNormAffine
from passes.rules.fuse.not_where import FuseNotWhere
from passes.rules.fuse.pad_conv import FusePadConv
from passes.rules.fuse.pad_pool import FusePadPool
from passes.rules.fuse.parallel_convs import FuseParallelConvs
from passes.rules.fuse.pow_to_mul import ReplacePow
from passes.rules.fuse.qdq import EliminateDoubleQuantization, EliminateReluBeforeQuantize, MoveQuantizationThrough
from passes.rules.fuse.reciprocal_mul import FuseReciprocalMul
from passes.rules.fuse.reduce_squeeze import FuseReduceSqueeze
from passes.rules.fuse.reshape_chain import FuseReshapeChain, ReplaceViewByReshape
from passes.rules.fuse.reshape_matmul import FuseReshapeMatMul
from passes.rules.fuse.reshaped_transpose import FuseReshapedTranspose
from passes.rules.fuse.rotary import FuseRotaryEmbedding
from passes.rules.fuse.scaled_operands import FuseScaledOperands
from passes.rules.fuse.sequence import FuseSequence
from passes.rules.fuse.shape_window import FuseShapeWindow
from passes.rules.fuse.sigmoid import FuseLeakyRelu, FuseSigmoid, FuseSoftplus
from passes.rules.fuse.slice_chain import FuseSliceChain
from passes.rules.fuse.slice_of_concat import FuseSliceOfConcat
from passes.rules.fuse.slices_to_split import FuseSlicesToSplit
from passes.rules.fuse.squeeze_chain import FuseSqueezeChain
from passes.rules.fuse.swish import FuseMish, FuseSwish
from passes.rules.fuse.transpose_chain import FuseTransposeChain, ReplaceTransposeByReshape
from passes.rules.fuse.transpose_gemm import FuseTransposeGemm
from passes.rules.move.reshape_to_constant import MoveReshapeToConstant
from passes.rules.move.scale_to_weight import MoveScaleToWeight
from passes.rules.move.shape_of_same import MoveShapeUp
from passes.rules.move.transpose_down import MoveTransposeDown
from passes.rules.tidy.common_subexpression import MergeCommonSubexpressions
from passes.rules.tidy.dead_code import RemoveDeadCode
from passes.rules.tidy.duplicate_initializers import MergeDuplicateInitializers
from passes.rules.tidy.unused_outputs import RemoveUnusedOutputs
from passes.rules.tidy.zero_bias import RemoveZeroBias

INLINE: tuple[type[Rewrite], ...] = (InlineFunction,)

CLEAN: tuple[type[Rewrite], ...] = (
    LiftConstants,
    InlineIf,
    InlineOnlyBranch,
    UnrollLoop,
    EliminateIdentity,
    RemoveUnusedOutputs,
    EliminateDropout,
    FoldShapes,
    FoldConstants,
    FoldFilled,
    EliminateNoopCast,
    EliminateNoopReshape,
    EliminateNoopTranspose,
    EliminateNoopSlice,
    EliminateNoopPad,
    EliminateNoopClip,
    EliminateNoopReduce,
    EliminateNoopScatter,
    EliminateNoopResize,
    EliminateSameChoice,
    EliminateSingleInput,
    EliminateEmptyConcatInput,
    EliminateNeutral,
    EliminateIdempotent,
    EliminateInvolution,
    FoldReshapeTarget,
    MoveShapeUp,
    FuseCastChain,
    FuseTransposeChain,
    FuseReshapeChain,
    FuseSqueezeChain,
    FuseConcatChain,
    FuseSliceChain,
    FuseSliceOfConcat,
    FuseConcatOfSplit,
    FuseConcatConstants,
    FuseGatherUnsqueeze,
    FuseSequence,
    FuseReshapedTranspose,
    RemoveDeadCode,
    MergeDuplicateInitializers,
    MergeCommonSubexpressions,
)
"""What does nothing, is known, or stands twice: after it, patterns meet what they expect."""

RECOGNISE: tuple[type[Rewrite], ...] = (
    FuseLayerNorm,
    FuseRMSNorm,
    FuseNormAffine,
    FuseInstanceNorm,
    FuseInstanceNormAffine,
    FuseGroupNorm,
    FuseGelu,
    FuseSigmoid,
    FuseSoftplus,
    FuseLeakyRelu,
    FuseHardSwish,
    FuseHardSigmoid,
    FuseHardSigmoidMul,
    FuseSwish,
    FuseMish,
    FuseRotaryEmbedding,
    FuseAttention,
    FuseAttentionHeads,
    FuseLogSoftmax,
    EliminateMonotoneBeforeArg,
    FuseDepthToSpace,
    FuseSlicesToSpaceToDepth,
    ReplaceEinsum,
)
"""Formulas that have a name: before their parts are fused into something else."""

FUSE: tuple[type[Rewrite], ...] = (
    FuseConvBatchNorm,
    FuseConvMul,
    FuseConvAdd,
    FuseGemmAffine,
    FuseMatMulAffine,
    FuseScaleIntoBiasedMatMul,
    FuseBatchNormAffine,
    FuseBeforeConv,
    FuseChannelOrderIntoConv,
    FuseBeforeMatMul,
    MoveScaleToWeight,
    FuseScaledOperands,
    FusePadConv,
    FusePadPool,
    FuseTransposeGemm,
    FuseMatMulAdd,
    FuseConstantChain,
    FuseReciprocalMul,
    FuseNegation,
    FuseReshapeMatMul,
    FuseShapeWindow,
    FuseClip,
    FuseExpandIntoBroadcast,
    FuseNotWhere,
    FuseReduceSqueeze,
    FuseSlicesToSplit,
    EliminateDoubleQuantization,
    MoveQuantizationThrough,
    EliminateReluBeforeQuantize,
    MoveTransposeDown,
    MoveReshapeToConstant,
    ReplaceTransposeByReshape,
    FuseParallelConvs,
    RemoveZeroBias,
    ReplacePow,
)
"""Several nodes into one."""

STAGES: tuple[tuple[type[Rewrite], ...], ...] = (INLINE, CLEAN, RECOGNISE, FUSE)
"""In this order, each to its fixpoint, and again until none changes anything."""

OPT_IN: tuple[type[Rewrite], ...] = (FuseLpNorm, ReplaceViewByReshape)
"""In preset "aggressive" only."""

CONTRIB_ATTENTION: tuple[type[Rewrite], ...] = (FuseMultiHeadAttention,)
"""Of com.microsoft, before its parts are fused into something else."""

CONTRIB: tuple[type[Rewrite], ...] = (
    FuseContribGelu,
    FuseQuickGelu,
    FuseSkipLayerNorm,
    FuseTransposeIntoMatMul,
    FuseConvActivation,
)
"""Ops of com.microsoft: for onnxruntime only."""

PRESETS = ("default", "safe", "aggressive", "contrib")


@lru_cache(maxsize=1)
def rules() -> dict[str, type[Rewrite]]:
    """Every rewrite by id, in order."""
    found: dict[str, type[Rewrite]] = {}
    for stage in (*STAGES, OPT_IN, CONTRIB_ATTENTION, CONTRIB):
        for rule in stage:
            found.setdefault(rule.id, rule)
    return found


def rule(name: str) -> type[Rewrite]:
    """The rewrite called `name`; `OptionError` names the nearest."""
    found = rules().get(name)
    if found is None:
        raise OptionError(f"no rewrite called '{name}'", hint=nearest(name, rules()) or "`owb list rules` shows all")
    return found


def select(
    passes: str | Sequence[str] = "default", *, skip: Iterable[str] = (), rules: Iterable[Rewrite] = ()
) -> list[list[Rewrite]]:
    """The stages to run for presets and rule ids; `rules` are the user's own and make the last stage."""
    names = [n.strip() for n in passes.split(",")] if isinstance(passes, str) else list(passes)
    wanted: set[type[Rewrite]] = set()
    for name in names:
        if name in PRESETS:
            wanted |= _preset(name)
        elif name:
            wanted.add(rule(name))
    wanted -= {rule(name) for name in skip}
    stages = [[r() for r in stage if r in wanted] for stage in (*STAGES, OPT_IN, CONTRIB_ATTENTION, CONTRIB)]
    own = list(rules)
    return [stage for stage in [*stages, own] if stage]


def _preset(name: str) -> set[type[Rewrite]]:
    """The rules of a preset."""
    default = {r for stage in STAGES for r in stage}
    if name == "safe":
        return {r for r in default if r.safety is Safety.EXACT}
    if name == "aggressive":
        return default | set(OPT_IN)
    return default | set(CONTRIB) | set(CONTRIB_ATTENTION) if name == "contrib" else default
