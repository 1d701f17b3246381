"""Train the sample models on scikit-learn's digits and export them with PyTorch's exporters.

    python -m venv V && V/bin/pip install torch==2.13.0 onnx onnxscript scikit-learn && V/bin/python samples/make.py

A development tool: the results beside it are committed, so nobody needs PyTorch to use the workbench.

    digits_cnn.onnx                a plain CNN with BatchNormalization after each Conv
    digits_mobile.onnx             depthwise-separable, HardSwish, squeeze-and-excite
    digits_attention_ts.onnx       two attention blocks, TorchScript exporter, opset 13: LayerNormalization and GELU are decomposed
    digits_attention_dynamo.onnx   the same from the graph-capturing exporter, opset 18
    digits_fragile.onnx            narrow and unnormalised, one channel 400 times the others: per-tensor int8 ruins it
    digits_control.onnx            an If on the brightness and a Loop of refinement steps
    digits.npz                     calibration_images, calibration_labels, heldout_images, heldout_labels

Images are float32 [N,1,8,8] in 0…1. The data is the UCI "Optical Recognition of Handwritten Digits" set (CC BY 4.0), see README.md here.
"""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.nn import functional as F

HERE = Path(__file__).parent
HELD_OUT, CALIBRATION, EPOCHS = 360, 128, 60


class PlainCnn(nn.Module):
    """Three Conv + BatchNormalization + Relu, a pool and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        widths = (1, 32, 64, 64)
        self.convs = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1, bias=False) for a, b in pairwise(widths))
        self.norms = nn.ModuleList(nn.BatchNorm2d(b) for b in widths[1:])
        self.head = nn.Linear(64 * 4, 10)

    def forward(self, image: Tensor) -> Tensor:
        for k, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            image = F.relu(norm(conv(image)))
            if k:
                image = F.max_pool2d(image, 2)
        return self.head(image.flatten(1))


class Squeeze(nn.Module):
    """Squeeze-and-excite with HardSigmoid."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, channels // 4, 1), nn.Conv2d(channels // 4, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        return x * F.hardsigmoid(self.up(F.relu(self.down(F.adaptive_avg_pool2d(x, 1)))))


class MobileBlock(nn.Module):
    """Depthwise 3×3, squeeze-and-excite, pointwise; HardSwish between."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(inside, inside, 3, stride, 1, groups=inside, bias=False)
        self.pointwise = nn.Conv2d(inside, outside, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(inside), nn.BatchNorm2d(outside)
        self.squeeze = Squeeze(inside)

    def forward(self, x: Tensor) -> Tensor:
        x = self.squeeze(F.hardswish(self.norm1(self.depthwise(x))))
        return F.hardswish(self.norm2(self.pointwise(x)))


class Mobile(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.norm = nn.Conv2d(1, 24, 3, padding=1, bias=False), nn.BatchNorm2d(24)
        self.blocks = nn.Sequential(MobileBlock(24, 48, 2), MobileBlock(48, 64, 1), MobileBlock(64, 96, 2))
        self.head = nn.Linear(96, 10)

    def forward(self, image: Tensor) -> Tensor:
        x = self.blocks(F.hardswish(self.norm(self.stem(image))))
        return self.head(x.mean((2, 3)))


class AttentionBlock(nn.Module):
    """Pre-norm attention and a GELU feed-forward, written out so that the exporter decomposes it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def split(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm1(x)
        query, key, value = self.split(self.query(y)), self.split(self.key(y)), self.split(self.value(y))
        weight = torch.softmax(query @ key.transpose(2, 3) / (query.shape[-1] ** 0.5), -1)
        x = x + self.out((weight @ value).transpose(1, 2).reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Attention(nn.Module):
    """2×2 patches as 16 tokens of width 48."""

    def __init__(self) -> None:
        super().__init__()
        self.patch, self.position = nn.Conv2d(1, 48, 2, 2), nn.Parameter(torch.randn(1, 16, 48) * 0.02)
        self.blocks = nn.Sequential(AttentionBlock(48, 4), AttentionBlock(48, 4))
        self.norm, self.head = nn.LayerNorm(48), nn.Linear(48, 10)

    def forward(self, image: Tensor) -> Tensor:
        x = self.patch(image).flatten(2).transpose(1, 2) + self.position
        return self.head(self.norm(self.blocks(x)).mean(1))


class Fragile(nn.Module):
    """Narrow, no normalisation."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 12, 3, padding=1)
        self.conv3, self.head = nn.Conv2d(12, 16, 3, padding=1), nn.Linear(16 * 4, 10)

    def forward(self, image: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.conv2(F.relu(self.conv1(image)))), 2)
        return self.head(F.max_pool2d(F.relu(self.conv3(x)), 2).flatten(1))

    @torch.no_grad()
    def add_outliers(self, factor: float) -> None:
        """Scale one channel up and its readers down: the same function, but its range hides the other channels in 8 bits."""
        for first, second in ((self.conv1, self.conv2), (self.conv2, self.conv3)):
            first.weight[3] *= factor
            first.bias[3] *= factor
            second.weight[:, 3] /= factor


class Control(nn.Module):
    """Inverts bright images (If), then refines its state a given number of times (Loop)."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.step, self.head = nn.Linear(64, 48), nn.Linear(48, 48), nn.Linear(48, 10)

    def forward(self, image: Tensor, steps: Tensor) -> Tensor:
        if bool(image.mean() > 0.5):
            image = 1.0 - image
        x = self.embed(image.flatten(1))
        state = torch.tanh(x)
        for _ in range(int(steps)):
            state = torch.tanh(self.step(state) + x)
        return self.head(state)


def train(model: nn.Module, images: Tensor, labels: Tensor, *extra: Tensor) -> nn.Module:
    """Adam with a cosine schedule; small shifts and noise so that the held-out score means something."""
    generator = torch.Generator().manual_seed(0)
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    model.train()
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(images), generator=generator).split(64):
            x = images[batch] + 0.02 * torch.randn(images[batch].shape, generator=generator)
            loss = F.cross_entropy(model(x, *extra), labels[batch], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
    return model.eval()


def export(model: nn.Module, name: str, images: Tensor, *, dynamo: bool = False, opset: int = 17) -> None:
    """Write NAME.onnx with a symbolic batch; BatchNormalization is kept, so that there is something to fuse."""
    target = HERE / f"{name}.onnx"
    if dynamo:
        batch = {0: torch.export.Dim("batch")}
        program = torch.onnx.export(
            model,
            (images[:2],),
            dynamo=True,
            opset_version=opset,
            input_names=["image"],
            output_names=["logits"],
            dynamic_shapes=({**batch},),
            verbose=False,
        )
        program.save(target, external_data=False)
        without_stack_traces(target)
        return
    buffer = io.BytesIO()
    torch.onnx.export(
        model,
        (images[:2],),
        buffer,
        dynamo=False,
        opset_version=opset,
        input_names=["image"],
        output_names=["logits"],
        dynamic_axes={"image": {0: "batch"}, "logits": {0: "batch"}},
        training=torch.onnx.TrainingMode.PRESERVE,
        do_constant_folding=False,
    )
    target.write_bytes(buffer.getvalue())


def without_stack_traces(path: Path) -> None:
    """Drop what the exporter notes of the machine it ran on: source files and lines of every node."""
    proto = onnx.load(path)
    for node in proto.graph.node:
        kept = [entry for entry in node.metadata_props if entry.key != "pkg.torch.onnx.stack_trace"]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    onnx.save(proto, path)


def export_control(model: nn.Module, images: Tensor) -> None:
    buffer = io.BytesIO()
    torch.onnx.export(
        torch.jit.script(model),
        (images[:2], torch.tensor(4)),
        buffer,
        dynamo=False,
        opset_version=17,
        input_names=["image", "steps"],
        output_names=["logits"],
        dynamic_axes={"image": {0: "batch"}, "logits": {0: "batch"}},
    )
    (HERE / "digits_control.onnx").write_bytes(buffer.getvalue())


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    images = torch.tensor(digits.images[order, None] / 16, dtype=torch.float32)
    labels = torch.tensor(digits.target[order])
    held, given = images[:HELD_OUT], images[HELD_OUT:]
    held_labels, given_labels = labels[:HELD_OUT], labels[HELD_OUT:]
    np.savez_compressed(
        HERE / "digits.npz",
        calibration_images=given[:CALIBRATION].numpy(),
        calibration_labels=given_labels[:CALIBRATION].numpy(),
        heldout_images=held.numpy(),
        heldout_labels=held_labels.numpy(),
    )

    def trained(model: nn.Module, *extra: Tensor) -> nn.Module:
        train(model, given, given_labels, *extra)
        with torch.no_grad():
            print(
                f"{type(model).__name__:10s} held-out accuracy {float((model(held, *extra).argmax(1) == held_labels).float().mean()):.4f}",
                flush=True,
            )
        return model

    export(trained(PlainCnn()), "digits_cnn", given)
    export(trained(Mobile()), "digits_mobile", given)
    attention = trained(Attention())
    export(attention, "digits_attention_ts", given, opset=13)
    export(attention, "digits_attention_dynamo", given, dynamo=True, opset=18)
    fragile = trained(Fragile())
    fragile.add_outliers(400.0)
    export(fragile, "digits_fragile", given)
    export_control(trained(Control(), torch.tensor(4)), given)
    for path in sorted(HERE.glob("*.onnx")):
        model = onnx.load(path)
        onnx.checker.check_model(model, full_check=True)
        print(f"{path.name:32s} {path.stat().st_size:8,d} bytes  {len(model.graph.node)} nodes")


if __name__ == "__main__":
    main()
