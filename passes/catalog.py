"""Every rewrite, in order. Order is meaning: what stands first is tried first, and a stage is finished before the next begins.

A line names a rewrite, its class, and the ops it starts from: its file is loaded where a node of one of them is met, so a model pays for the
rules it may need only.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

from exec.errors import OptionError, nearest
from passes.base import EVERY, Rewrite, Safety


@dataclass(frozen=True)
class Listed:
    """A line of the catalogue.

    id      what the class calls itself
    home    module below passes.rules, and class
    on      op types it starts from; "*" where they are many, nothing for a rule that looks at graphs as a whole
    beside  op types of which the model must have one for it to find anything
    """

    id: str
    home: str
    on: str
    beside: str = ""

    @cached_property
    def kind(self) -> type[Rewrite]:
        """The class."""
        module, _, name = self.home.rpartition(".")
        kind: type[Rewrite] = getattr(importlib.import_module(f"passes.rules.{module}"), name)
        return kind


class Chosen:
    """A rewrite that is to run: a line of the catalogue, whose class is loaded when it is needed, or a rewrite of the user's."""

    def __init__(self, what: Listed | Rewrite) -> None:
        self._what, self.id = what, what.id
        self.on = frozenset(what.on.split() if isinstance(what, Listed) else what.starts())
        self.beside = frozenset(what.beside.split() if isinstance(what, Listed) else ())

    @cached_property
    def rule(self) -> Rewrite:
        return self._what.kind() if isinstance(self._what, Listed) else self._what

    def starts_at(self, op: str, present: AbstractSet[str]) -> bool:
        """Whether it wants to see nodes of `op` in a model that has the ops `present`."""
        if (op not in self.on and EVERY not in self.on) or (self.beside and self.beside.isdisjoint(present)):
            return False
        starts = self.rule.starts()
        return op in starts or EVERY in starts


INLINE: tuple[Listed, ...] = (Listed("inline-function", "fold.inline_function.InlineFunction", ""),)

CLEAN: tuple[Listed, ...] = (
    Listed("lift-constants", "fold.lift_constants.LiftConstants", "Constant"),
    Listed("inline-if", "fold.inline_if.InlineIf", "If"),
    Listed("inline-only-branch", "fold.only_branch.InlineOnlyBranch", "If"),
    Listed("unroll-loop", "fold.unroll_loop.UnrollLoop", "Loop"),
    Listed("eliminate-identity", "eliminate.identity.EliminateIdentity", "Identity"),
    Listed(
        "remove-unused-outputs",
        "tidy.unused_outputs.RemoveUnusedOutputs",
        "Dropout MaxPool LayerNormalization BatchNormalization Unique",
    ),
    Listed("eliminate-dropout", "eliminate.dropout.EliminateDropout", "Dropout"),
    Listed("fold-shapes", "fold.shapes.FoldShapes", "*"),
    Listed("fold-constants", "fold.constants.FoldConstants", "*"),
    Listed("fold-filled", "fold.filled.FoldFilled", "*", "ConstantOfShape"),
    Listed("eliminate-noop-cast", "eliminate.noop_cast.EliminateNoopCast", "Cast CastLike"),
    Listed(
        "eliminate-noop-reshape",
        "eliminate.noop_shape.EliminateNoopReshape",
        "Reshape Flatten Expand Tile Squeeze Unsqueeze CenterCropPad",
    ),
    Listed("eliminate-noop-transpose", "eliminate.noop_transpose.EliminateNoopTranspose", "Transpose"),
    Listed("eliminate-noop-slice", "eliminate.noop_slice.EliminateNoopSlice", "Slice"),
    Listed("eliminate-noop-pad", "eliminate.noop_pad.EliminateNoopPad", "Pad"),
    Listed("eliminate-noop-clip", "eliminate.noop_clip.EliminateNoopClip", "Clip"),
    Listed(
        "eliminate-noop-reduce",
        "eliminate.noop_reduce.EliminateNoopReduce",
        "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd GlobalAveragePool GlobalMaxPool",
    ),
    Listed("eliminate-noop-scatter", "eliminate.noop_scatter.EliminateNoopScatter", "ScatterND Gather"),
    Listed("eliminate-noop-resize", "eliminate.noop_resize.EliminateNoopResize", "Resize Upsample MaxPool AveragePool"),
    Listed(
        "eliminate-same-choice",
        "eliminate.same_choice.EliminateSameChoice",
        "Where Max Min And Or BitwiseAnd BitwiseOr",
    ),
    Listed("eliminate-single-input", "eliminate.single_input.EliminateSingleInput", "Concat Sum Mean Max Min Split"),
    Listed("eliminate-empty-concat-input", "eliminate.empty_concat.EliminateEmptyConcatInput", "Concat"),
    Listed(
        "eliminate-neutral",
        "eliminate.neutral.EliminateNeutral",
        "Add Sub Mul Div Pow Or And Xor BitwiseOr BitwiseXor BitShift",
    ),
    Listed("eliminate-idempotent", "eliminate.idempotent.EliminateIdempotent", "Relu Abs Ceil Floor Round Sign"),
    Listed("eliminate-involution", "eliminate.involution.EliminateInvolution", "Neg Not BitwiseNot"),
    Listed("fold-reshape-target", "fold.reshape_target.FoldReshapeTarget", "Reshape"),
    Listed("move-shape-up", "move.shape_of_same.MoveShapeUp", "Shape Size"),
    Listed("fuse-cast-chain", "fuse.cast_chain.FuseCastChain", "Cast"),
    Listed("fuse-transpose-chain", "fuse.transpose_chain.FuseTransposeChain", "Transpose"),
    Listed("fuse-reshape-chain", "fuse.reshape_chain.FuseReshapeChain", "Reshape Flatten Squeeze Unsqueeze"),
    Listed("fuse-squeeze-chain", "fuse.squeeze_chain.FuseSqueezeChain", "Squeeze Unsqueeze"),
    Listed("fuse-concat-chain", "fuse.concat_chain.FuseConcatChain", "Concat"),
    Listed("fuse-slice-chain", "fuse.slice_chain.FuseSliceChain", "Slice"),
    Listed("fuse-slice-of-concat", "fuse.slice_of_concat.FuseSliceOfConcat", "Slice"),
    Listed("fuse-concat-of-split", "fuse.concat_of_split.FuseConcatOfSplit", "Concat"),
    Listed("fuse-concat-constants", "fuse.concat_constants.FuseConcatConstants", "Concat"),
    Listed("fuse-gather-unsqueeze", "fuse.gather_unsqueeze.FuseGatherUnsqueeze", "Unsqueeze", "Gather"),
    Listed("replace-split-to-sequence", "fuse.split_sequence.ReplaceSplitToSequence", "SplitToSequence"),
    Listed("fuse-sequence", "fuse.sequence.FuseSequence", "SequenceAt ConcatFromSequence"),
    Listed("fuse-reshaped-transpose", "fuse.reshaped_transpose.FuseReshapedTranspose", "Reshape", "Transpose"),
    Listed("remove-dead-code", "tidy.dead_code.RemoveDeadCode", ""),
    Listed("merge-duplicate-initializers", "tidy.duplicate_initializers.MergeDuplicateInitializers", ""),
    Listed("merge-common-subexpressions", "tidy.common_subexpression.MergeCommonSubexpressions", ""),
)
"""What does nothing, is known, or stands twice: after it, patterns meet what they expect."""

RECOGNISE: tuple[Listed, ...] = (
    Listed("fuse-layer-norm", "fuse.layer_norm.FuseLayerNorm", "Div Mul", "ReduceMean"),
    Listed("fuse-rms-norm", "fuse.layer_norm.FuseRMSNorm", "Div Mul", "ReduceMean"),
    Listed("fuse-norm-affine", "fuse.norm_affine.FuseNormAffine", "Mul Add", "LayerNormalization RMSNormalization"),
    Listed("fuse-instance-norm", "fuse.instance_norm.FuseInstanceNorm", "Div Mul", "ReduceMean"),
    Listed(
        "fuse-instance-norm-affine", "fuse.instance_norm.FuseInstanceNormAffine", "Mul Add", "InstanceNormalization"
    ),
    Listed("fuse-group-norm", "fuse.group_norm.FuseGroupNorm", "Add", "InstanceNormalization"),
    Listed("fuse-gelu", "fuse.gelu.FuseGelu", "Mul Div", "Erf Tanh"),
    Listed("fuse-sigmoid", "fuse.sigmoid.FuseSigmoid", "Div Reciprocal", "Exp"),
    Listed("fuse-softplus", "fuse.sigmoid.FuseSoftplus", "Log", "Exp"),
    Listed("fuse-leaky-relu", "fuse.sigmoid.FuseLeakyRelu", "Max"),
    Listed("fuse-hard-swish", "fuse.hard_swish.FuseHardSwish", "Div Mul", "Clip"),
    Listed("fuse-hard-sigmoid", "fuse.hard_sigmoid.FuseHardSigmoid", "Div Mul", "Clip"),
    Listed("fuse-hard-sigmoid-mul", "fuse.hard_swish.FuseHardSigmoidMul", "Mul", "HardSigmoid"),
    Listed("fuse-swish", "fuse.swish.FuseSwish", "Mul", "Sigmoid"),
    Listed("fuse-mish", "fuse.swish.FuseMish", "Mul", "Tanh"),
    Listed("fuse-rotary-embedding", "fuse.rotary.FuseRotaryEmbedding", "Add", "Neg"),
    Listed("fuse-attention", "fuse.attention.FuseAttention", "MatMul", "Softmax"),
    Listed("fuse-attention-heads", "fuse.attention_heads.FuseAttentionHeads", "Reshape", "Attention"),
    Listed("fuse-log-softmax", "fuse.log_softmax.FuseLogSoftmax", "Log", "Softmax"),
    Listed("eliminate-softmax-before-argmax", "fuse.log_softmax.EliminateMonotoneBeforeArg", "ArgMax ArgMin"),
    Listed("fuse-depth-to-space", "fuse.depth_space.FuseDepthToSpace", "Reshape", "Transpose"),
    Listed("fuse-slices-to-space-to-depth", "fuse.depth_space.FuseSlicesToSpaceToDepth", "Concat", "Slice"),
    Listed("replace-einsum", "fuse.einsum.ReplaceEinsum", "Einsum"),
)
"""Formulas that have a name: before their parts are fused into something else."""

FUSE: tuple[Listed, ...] = (
    Listed("fuse-conv-bn", "fuse.conv_bn.FuseConvBatchNorm", "BatchNormalization", "Conv ConvTranspose"),
    Listed("fuse-conv-mul", "fuse.conv_mul.FuseConvMul", "Mul Div", "Conv ConvTranspose"),
    Listed("fuse-conv-add", "fuse.conv_add.FuseConvAdd", "Add Sub", "Conv ConvTranspose"),
    Listed("fuse-gemm-affine", "fuse.gemm_affine.FuseGemmAffine", "BatchNormalization Mul Div Add Sub", "Gemm"),
    Listed("fuse-matmul-affine", "fuse.matmul_affine.FuseMatMulAffine", "BatchNormalization Mul Div", "MatMul"),
    Listed("fuse-scale-into-biased-matmul", "fuse.mul_through_add.FuseScaleIntoBiasedMatMul", "Mul Div", "MatMul"),
    Listed(
        "fuse-bn-affine",
        "fuse.bn_affine.FuseBatchNormAffine",
        "Mul Div Add Sub BatchNormalization",
        "BatchNormalization",
    ),
    Listed("fuse-before-conv", "fuse.before_conv.FuseBeforeConv", "Conv"),
    Listed("fuse-channel-order-into-conv", "fuse.gather_conv.FuseChannelOrderIntoConv", "Conv"),
    Listed("fuse-before-matmul", "fuse.before_matmul.FuseBeforeMatMul", "MatMul Gemm", "Mul Div"),
    Listed("move-scale-to-weight", "move.scale_to_weight.MoveScaleToWeight", "Mul Div", "MatMul Gemm Conv"),
    Listed("fuse-scaled-operands", "fuse.scaled_operands.FuseScaledOperands", "MatMul", "Mul Div"),
    Listed("fuse-pad-conv", "fuse.pad_conv.FusePadConv", "Conv"),
    Listed("fuse-pad-pool", "fuse.pad_pool.FusePadPool", "AveragePool MaxPool"),
    Listed("fuse-transpose-gemm", "fuse.transpose_gemm.FuseTransposeGemm", "Gemm MatMul"),
    Listed("fuse-matmul-add", "fuse.matmul_add.FuseMatMulAdd", "Add Sum", "MatMul Gemm"),
    Listed("fuse-constant-chain", "fuse.constant_chain.FuseConstantChain", "Add Sub Mul Div"),
    Listed("fuse-reciprocal-mul", "fuse.reciprocal_mul.FuseReciprocalMul", "Mul", "Div Reciprocal"),
    Listed("fuse-negation", "fuse.negation.FuseNegation", "Add Sub Mul Div", "Neg"),
    Listed("fuse-reshape-matmul", "fuse.reshape_matmul.FuseReshapeMatMul", "Reshape", "MatMul"),
    Listed("fuse-shape-window", "fuse.shape_window.FuseShapeWindow", "Gather Slice", "Shape"),
    Listed("fuse-clip", "fuse.clip.FuseClip", "Clip Relu Min Max"),
    Listed(
        "fuse-expand-into-broadcast",
        "fuse.expand_binary.FuseExpandIntoBroadcast",
        "Add Sub Mul Div Pow Equal Less Greater LessOrEqual GreaterOrEqual And Or Xor Where Max Min",
        "Expand",
    ),
    Listed("fuse-not-where", "fuse.not_where.FuseNotWhere", "Where", "Not"),
    Listed("fuse-reduce-squeeze", "fuse.reduce_squeeze.FuseReduceSqueeze", "Squeeze Unsqueeze Reshape"),
    Listed("fuse-slices-to-split", "fuse.slices_to_split.FuseSlicesToSplit", "Slice"),
    Listed("eliminate-double-quantization", "fuse.qdq.EliminateDoubleQuantization", "QuantizeLinear"),
    Listed("move-quantization-through", "fuse.qdq.MoveQuantizationThrough", "QuantizeLinear"),
    Listed("eliminate-relu-before-quantize", "fuse.qdq.EliminateReluBeforeQuantize", "QuantizeLinear"),
    Listed("move-transpose-down", "move.transpose_down.MoveTransposeDown", "Transpose"),
    Listed(
        "move-reshape-to-constant",
        "move.reshape_to_constant.MoveReshapeToConstant",
        "Reshape Flatten Squeeze Unsqueeze",
    ),
    Listed("replace-transpose-by-reshape", "fuse.transpose_chain.ReplaceTransposeByReshape", "Transpose"),
    Listed("fuse-parallel-convs", "fuse.parallel_convs.FuseParallelConvs", "Conv"),
    Listed("remove-zero-bias", "tidy.zero_bias.RemoveZeroBias", "Conv ConvTranspose Gemm"),
    Listed("remove-zero-state", "tidy.zero_state.RemoveZeroState", "LSTM GRU RNN"),
    Listed("replace-pow", "fuse.pow_to_mul.ReplacePow", "Pow"),
)
"""Several nodes into one."""

STAGES: tuple[tuple[Listed, ...], ...] = (INLINE, CLEAN, RECOGNISE, FUSE)
"""In this order, each to its fixpoint, and again until none changes anything."""

OPT_IN: tuple[Listed, ...] = (
    Listed("fuse-lp-norm", "fuse.lp_norm.FuseLpNorm", "Div"),
    Listed("fuse-quantized-conv", "fuse.quantized_conv.FuseQuantizedConv", "QuantizeLinear", "Conv"),
    Listed("replace-flatten", "fuse.reshape_chain.ReplaceViewByReshape", "Flatten"),
)
"""In preset "aggressive" only."""

CONTRIB_ATTENTION: tuple[Listed, ...] = (
    Listed("fuse-multi-head-attention", "contrib.multi_head.FuseMultiHeadAttention", "MatMul"),
)
"""Of com.microsoft, before its parts are fused into something else."""

CONTRIB: tuple[Listed, ...] = (
    Listed("fuse-contrib-gelu", "contrib.gelu.FuseContribGelu", "Mul Div"),
    Listed("fuse-quick-gelu", "contrib.gelu.FuseQuickGelu", "Mul"),
    Listed("fuse-contrib-rotary-embedding", "contrib.rotary.FuseContribRotaryEmbedding", "Add", "Neg"),
    Listed("fuse-skip-layer-norm", "contrib.skip_norm.FuseSkipLayerNorm", "LayerNormalization"),
    Listed("fuse-transpose-into-matmul", "contrib.fused_matmul.FuseTransposeIntoMatMul", "MatMul Mul Div"),
    Listed(
        "fuse-conv-activation", "contrib.fused_conv.FuseConvActivation", "Relu Sigmoid Tanh LeakyRelu HardSigmoid Clip"
    ),
)
"""Ops of com.microsoft: for onnxruntime only."""

PRESETS = ("default", "safe", "aggressive", "contrib")

LISTED = {line.id: line for stage in (*STAGES, OPT_IN, CONTRIB_ATTENTION, CONTRIB) for line in stage}
"""Every rewrite by id, in order."""


def rules() -> dict[str, type[Rewrite]]:
    """Every rewrite by id, in order; loads them all."""
    return {name: line.kind for name, line in LISTED.items()}


def rule(name: str) -> type[Rewrite]:
    """The rewrite called `name`; `OptionError` names the nearest."""
    return _line(name).kind


def _line(name: str) -> Listed:
    found = LISTED.get(name)
    if found is None:
        raise OptionError(f"no rewrite called '{name}'", hint=nearest(name, LISTED) or "`owb list rules` shows all")
    return found


def select(
    passes: str | Sequence[str] = "default", *, skip: Iterable[str] = (), rules: Iterable[Rewrite] = ()
) -> list[list[Chosen]]:
    """The stages to run for presets and rule ids; `rules` are the user's own and make the last stage."""
    names = [n.strip() for n in passes.split(",")] if isinstance(passes, str) else list(passes)
    wanted: set[Listed] = set()
    for name in names:
        if name in PRESETS:
            wanted |= _preset(name)
        elif name:
            wanted.add(_line(name))
    wanted -= {_line(name) for name in skip}
    stages = [
        [Chosen(line) for line in stage if line in wanted] for stage in (*STAGES, OPT_IN, CONTRIB_ATTENTION, CONTRIB)
    ]
    own = [Chosen(rule) for rule in rules]
    return [stage for stage in [*stages, own] if stage]


def _preset(name: str) -> set[Listed]:
    """The rules of a preset."""
    default = {line for stage in STAGES for line in stage}
    if name == "safe":
        return {line for line in default if line.kind.safety is Safety.EXACT}
    if name == "aggressive":
        return default | set(OPT_IN)
    return default | set(CONTRIB) | set(CONTRIB_ATTENTION) if name == "contrib" else default
