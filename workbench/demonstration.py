"""The main job on the shipped model: before → optimized → int8, with accuracy, size, latency and the slowest nodes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import workbench
from exec.arrays import Array
from exec.ir import Model
from exec.metrics import sqnr_db
from workbench.samples import sample

RUNS = 30
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Variant:
    """One state of the model.

    accuracy  share of the held-out images it gets right
    latency   median of the engines' runs on a batch of 32, in nanoseconds
    """

    title: str
    nodes: int
    file_bytes: int
    accuracy: float
    sqnr_db: float | None
    latency_ns: dict[str, float]


@dataclass(frozen=True, slots=True)
class SlowNode:
    """A row of the profile."""

    name: str
    op: str
    median_ns: float
    share: float


@dataclass(frozen=True, slots=True)
class Demonstration:
    """Everything `owb demo` shows."""

    model: str
    images: int
    variants: tuple[Variant, ...]
    slowest: tuple[SlowNode, ...]
    remarks: tuple[str, ...]


def demonstrate(say: Say, *, folder: Path | None = None) -> Demonstration:
    """Run the main job; the results are written to `folder`, or nowhere when it is None."""
    path = sample("digits_cnn.onnx")
    with np.load(sample("digits.npz"), allow_pickle=False) as data:
        calibration, held, labels = data["calibration_images"], data["heldout_images"], data["heldout_labels"]
    original = workbench.load(path)
    name = original.inputs[0].name
    say("optimizing, and verifying every change against the original")
    optimized = workbench.optimize(original, feeds={name: calibration[:16]}).model
    say(f"quantizing to int8, calibrated on {len(calibration)} images")
    quantized = workbench.quantize(optimized, data=[{name: image[None]} for image in calibration])
    say("measuring accuracy and latency")
    states = (("original", original), ("optimized", optimized), ("int8", quantized.model))
    reference = logits(original, held)
    with tempfile.TemporaryDirectory() as scratch:
        target = folder or Path(scratch)
        variants = tuple(_variant(title, model, held, labels, reference, target) for title, model in states)
    profile = workbench.profile(optimized, {name: held[:32]}, RUNS)
    total = sum(n.median_ns for n in profile.nodes) or 1.0
    slowest = sorted(profile.nodes, key=lambda n: -n.median_ns)[:5]
    rows = tuple(SlowNode(n.name or n.op, n.op, n.median_ns, n.median_ns / total) for n in slowest)
    return Demonstration(path.name, len(held), variants, rows, tuple(_remarks(variants)))


def logits(model: Model, images: Array) -> Array:
    """The model's first output for all images, as one batch."""
    session = workbench.Session(model)
    values = session.run({model.inputs[0].name: images})
    return np.asarray(next(iter(values.values())))


def _variant(title: str, model: Model, held: Array, labels: Array, reference: Array, folder: Path) -> Variant:
    path = folder / f"digits_cnn_{title}.onnx"
    model.save(path)
    got = logits(model, held)
    accuracy = float((got.argmax(1) == labels).mean())
    nodes = sum(node.op != "Constant" for node in model.graph.nodes)
    return Variant(
        title,
        nodes,
        path.stat().st_size,
        accuracy,
        None if title == "original" else sqnr_db(reference, got),
        latencies(model, held[:32]),
    )


def latencies(model: Model, batch: Array) -> dict[str, float]:
    """Median wall time of a batch, per engine that is installed, one thread each."""
    found: dict[str, float] = {}
    feeds = {model.inputs[0].name: batch}
    for engine in ("embedded", "onnxruntime"):
        try:
            result = workbench.profile(model, feeds, RUNS, engine=engine, threads=1)
        except workbench.BenchError as error:
            if error.kind != "engine-missing":
                raise
            continue
        found[engine] = result.wall_ns
    return found


def _remarks(variants: tuple[Variant, ...]) -> list[str]:
    optimized, small = variants[1].latency_ns, variants[2].latency_ns
    out = []
    for engine, time in small.items():
        if time > optimized[engine]:
            out.append(
                f"int8 is slower than float in {engine} here: the maps are 8×8 and smaller, so the work of a QuantizeLinear and a DequantizeLinear "
                "per layer outweighs what 8-bit products save"
            )
    if "embedded" in small:
        out.append(
            "the embedded engine carries integers in float32 products: exact, but decide about int8 by the runtime you ship (--engine onnxruntime)"
        )
    return out
