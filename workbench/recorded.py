"""Inputs and outputs that a framework recorded: ONNX `test_data_set_*` folders, .npz files, or a Python function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from exec.arrays import Value
from exec.errors import FeedError
from exec.ir import Model
from exec.sidefile import read_small
from quantize.importing import imported
from workbench.feeding import read_inputs

MOST_BYTES = 2 << 30
"""Of a recorded tensor: protobuf reads no more."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One run of the original: inputs and outputs by name."""

    name: str
    inputs: dict[str, Value]
    outputs: dict[str, Value]


def recordings(model: Model, source: str) -> Iterator[Recording]:
    """Every recorded run in `source`.

    a folder          with test_data_set_* folders (input_0.pb, output_0.pb), or .npz files
    FILE.npz          arrays by the model's input and output names
    module:function   called; gives an iterator of (inputs, outputs), each a dict by name
    """
    path = Path(source)
    if path.is_dir():
        yield from _folder(model, path)
    elif path.exists():
        yield _npz(model, path)
    elif ":" in source:
        yield from _function(source)
    else:
        raise FeedError(
            "no recorded data here", source, hint="a folder of test_data_set_*, an .npz file, or module:function"
        )


def _folder(model: Model, folder: Path) -> Iterator[Recording]:
    sets = sorted(folder.glob("test_data_set_*"))
    files = sorted(folder.glob("*.npz"))
    if not sets and not files:
        raise FeedError("this folder holds no recording", str(folder), "no test_data_set_* folder and no .npz file")
    for data in sets:
        yield Recording(data.name, _protos(model, data, "input"), _protos(model, data, "output"))
    for file in files:
        yield _npz(model, file)


def _protos(model: Model, folder: Path, side: str) -> dict[str, Value]:
    infos = model.inputs if side == "input" else model.outputs
    found: dict[str, Value] = {}
    for k, info in enumerate(infos):
        path = folder / f"{side}_{k}.pb"
        if not path.exists():
            raise FeedError(f"no {path.name} for {side} {info.name!r}", str(folder))
        kinds: dict[str | None, Any] = {
            "sequence_type": (onnx.SequenceProto, onnx.numpy_helper.to_list),
            "optional_type": (onnx.OptionalProto, onnx.numpy_helper.to_optional),
        }
        proto, convert = kinds.get(info.kind, (onnx.TensorProto, onnx.numpy_helper.to_array))
        try:
            found[info.name] = convert(proto.FromString(read_small(path, MOST_BYTES)))
        except (
            Exception
        ) as error:  # protobuf and onnx raise many kinds; all mean that the file is not what it should be
            raise FeedError(f"{path.name} is no {proto.__name__}", str(folder), str(error)) from error
    return found


def _npz(model: Model, path: Path) -> Recording:
    arrays = read_inputs(path)
    inputs = {i.name: arrays[i.name] for i in model.inputs if i.name in arrays}
    outputs = {o.name: arrays[o.name] for o in model.outputs if o.name in arrays}
    missing = [i.name for i in model.inputs if i.name not in arrays]
    if missing or not outputs:
        lacks = f"input {missing[0]!r}" if missing else f"any of the outputs {', '.join(o.name for o in model.outputs)}"
        raise FeedError(
            f"no array for {lacks}",
            str(path),
            f"it has {', '.join(arrays)}",
            "save inputs and outputs by their names in the model",
        )
    return Recording(path.name, inputs, outputs)


def _function(source: str) -> Iterator[Recording]:
    function, name = imported(source), source.rpartition(":")[2]
    try:
        for k, (inputs, outputs) in enumerate(function()):
            given, wanted = ({n: np.asarray(v) for n, v in values.items()} for values in (inputs, outputs))
            yield Recording(f"{name} {k}", given, wanted)
    except Exception as error:  # it is the user's own code
        why = f"{type(error).__name__}: {error}"
        hint = "it is called without arguments and gives pairs (inputs, outputs), each a dict by name"
        raise FeedError("the function that records fails", source, why, hint) from error
