"""What a quantization did, as data."""

from __future__ import annotations

from dataclasses import dataclass

from exec.ir import Model
from quantize.findings import Finding


@dataclass(frozen=True, slots=True)
class QuantizedNode:
    """A node whose products are taken in 8 bits.

    intensity  multiply-adds per element read and written
    """

    name: str
    op: str
    macs: int
    intensity: float
    weight_bytes: int
    weight_sqnr_db: float


@dataclass(frozen=True, slots=True)
class QuantizedTensor:
    """An activation with the range that was chosen.

    samples  it was seen in; 0 when the range was given
    sqnr_db  what the integers keep of the values seen, None without a histogram ("minmax", "moving-average")
    seen     the smallest and the largest value of all samples
    picture  counts of the values between them, () without a histogram
    """

    name: str
    low: float
    high: float
    scale: float
    zero_point: int
    samples: int
    sqnr_db: float | None
    seen: tuple[float, float] = (0.0, 0.0)
    picture: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class OutputQuality:
    """How far an output of the result is from the original's, over the samples kept for judging.

    agreement  share of positions with the same largest class, where the last axis is one
    slices_db  the same dB part by part along the axis with few entries, () when there is none
    """

    name: str
    sqnr_db: float
    cosine: float
    max_abs: float
    agreement: float | None
    slices_db: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SearchPoint:
    """One mix a search tried.

    nodes   in 8 bits
    db      SQNR of the worst output, before a last Softmax, on the samples searched with
    macs    multiply-adds in 8 bits
    """

    nodes: tuple[str, ...]
    db: float
    macs: int
    metric: float | None
    latency: float | None
    met: bool


@dataclass(frozen=True, slots=True)
class NodeTiming:
    """A node's median time in the float model and in the result; None where it is not there, or is part of another.

    op  "QuantizeLinear" and "DequantizeLinear" are conversions
    """

    name: str
    op: str
    before_ns: int | None
    after_ns: int | None


@dataclass(frozen=True, slots=True)
class Timing:
    """Time before and after, measured in turns on one thread.

    engine        where; only in onnxruntime are QDQ graphs computed on integers
    of_original   time as a share of the original's
    of_optimized  of the optimized float model's
    float_ms      of the optimized float model
    """

    engine: str
    of_original: float
    of_optimized: float
    float_ms: float
    nodes: tuple[NodeTiming, ...]


@dataclass(frozen=True, slots=True)
class QuantizeReport:
    """Everything a quantization did and left.

    macs_int8   multiply-adds taken in 8 bits, of macs_total
    before_bytes, optimized_bytes, after_bytes   weights of the original, of the optimized float model, of the result
    quantize_linear, dequantize_linear   nodes in the result
    search      the mixes an automatic quantization tried, in order
    timing      None when it was not asked for
    """

    mode: str
    format: str
    activations: str
    weights: str
    per_channel: bool
    method: str
    preset: str
    data: str
    samples: int
    opset: tuple[int, int]
    nodes: tuple[QuantizedNode, ...]
    tensors: tuple[QuantizedTensor, ...]
    outputs: tuple[OutputQuality, ...]
    findings: tuple[Finding, ...]
    before_bytes: int
    optimized_bytes: int
    after_bytes: int
    quantize_linear: int
    dequantize_linear: int
    macs_int8: int
    macs_total: int
    seconds: float
    search: tuple[SearchPoint, ...] = ()
    timing: Timing | None = None

    def of(self, code: str) -> tuple[Finding, ...]:
        """The findings of one code."""
        return tuple(f for f in self.findings if f.code == code)


@dataclass(frozen=True, slots=True)
class QuantizeResult:
    """The quantized model and the report."""

    model: Model
    report: QuantizeReport
