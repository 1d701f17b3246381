"""Make the exported models and what their frameworks computed: NAME.onnx and NAME.npz, inputs and outputs by their names in the model.

    python make.py torch        # torch, onnxscript
    python make.py tensorflow   # tensorflow-cpu, tf2onnx
    python make.py sklearn      # scikit-learn, skl2onnx

Each framework wants an environment of its own, so they are asked for one by one. Seeds are fixed; weights are random and small.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx

HERE = Path(__file__).parent


def keep(name: str, proto: onnx.ModelProto, inputs: list[np.ndarray], outputs: list[np.ndarray]) -> None:
    """Write a model and its recording; what the exporter says of this machine's paths goes."""
    for node in proto.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    del proto.metadata_props[:]
    for value in (*proto.graph.value_info, *proto.graph.input, *proto.graph.output, *proto.graph.initializer):
        del value.metadata_props[:]
        value.doc_string = ""
    onnx.save(proto, HERE / f"{name}.onnx")
    fed = {i.name: v for i, v in zip(proto.graph.input, inputs, strict=True)}
    got = {o.name: v for o, v in zip(proto.graph.output, outputs, strict=True)}
    np.savez_compressed(HERE / f"{name}.npz", **fed, **got)


def with_torch() -> None:
    import io

    import torch
    from torch import nn

    class Small(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.SiLU(), nn.MaxPool2d(2))
            self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
            self.norm = nn.LayerNorm(8)
            self.head = nn.Linear(8, 5)

        def forward(self, image: torch.Tensor) -> torch.Tensor:
            x = self.conv(image).flatten(2).transpose(1, 2)
            x = self.norm(x + self.attention(x, x, x, need_weights=False)[0])
            return torch.softmax(self.head(x.mean(1)), -1)

    torch.manual_seed(0)
    model = Small().eval()
    image = torch.rand(2, 3, 12, 12)
    with torch.no_grad():
        wanted = model(image).numpy()
    names = {"input_names": ["image"], "output_names": ["scores"]}
    buffer = io.BytesIO()
    torch.onnx.export(
        model, (image,), buffer, dynamo=False, opset_version=17, dynamic_axes={"image": {0: "batch"}}, **names
    )
    keep("torch_script", onnx.load_from_string(buffer.getvalue()), [image.numpy()], [wanted])
    batch = torch.export.Dim("batch")
    program = torch.onnx.export(model, (image,), dynamo=True, opset_version=18, dynamic_shapes=({0: batch},), **names)
    keep("torch_dynamo", program.model_proto, [image.numpy()], [wanted])


def with_tensorflow() -> None:
    import tensorflow as tf
    import tf2onnx

    tf.random.set_seed(0)
    image = tf.keras.Input((16, 16, 3), name="image")
    x = tf.keras.layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(image)
    x = tf.keras.layers.DepthwiseConv2D(3, padding="same")(x)
    x = tf.keras.layers.BatchNormalization()(x)
    x = tf.keras.layers.GlobalAveragePooling2D()(x)
    model = tf.keras.Model(image, tf.keras.layers.Dense(4, activation="softmax")(x))
    fed = np.random.default_rng(0).random((2, 16, 16, 3), np.float32)
    wanted = model(fed).numpy()

    @tf.function(input_signature=[tf.TensorSpec((None, 16, 16, 3), tf.float32, name="image")])
    def function(image: tf.Tensor) -> tf.Tensor:
        return model(image)

    proto, _ = tf2onnx.convert.from_function(function, input_signature=function.input_signature, opset=17)
    keep("tensorflow", proto, [fed], [wanted])


def with_sklearn() -> None:
    from skl2onnx import to_onnx
    from sklearn.datasets import load_iris
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x, y = load_iris(return_X_y=True)
    x = x.astype(np.float32)
    for name, model in (
        ("sklearn_linear", make_pipeline(StandardScaler(), LogisticRegression())),
        ("sklearn_forest", RandomForestClassifier(5, max_depth=4, random_state=0)),
    ):
        model.fit(x, y)
        proto = to_onnx(model, x[:1], options={"zipmap": False}, target_opset={"": 17, "ai.onnx.ml": 3})
        rows = x[::15]
        keep(name, proto, [rows], [model.predict(rows).astype(np.int64), model.predict_proba(rows).astype(np.float32)])


if __name__ == "__main__":
    {"torch": with_torch, "tensorflow": with_tensorflow, "sklearn": with_sklearn}[sys.argv[1]]()
