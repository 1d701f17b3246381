"""A model that nobody edits comes back byte for byte, whatever its weights are asked for in between."""

from __future__ import annotations

import importlib
import pkgutil
import random
import warnings
from pathlib import Path

import onnx
import onnx_graphsurgeon as gs
import pytest

from exec.errors import BenchError
from exec.ir import Model, load, walk

SAMPLED_FAMILIES, SAMPLED_MODELS = 12, 60


def backend_models(families: int | None = None) -> list[onnx.ModelProto]:
    """The models of ONNX's own backend tests: all, or those of a few operators (importing a family makes its models)."""
    from onnx.backend.test.case import node as cases

    names = sorted(module.name for module in pkgutil.iter_modules(cases.__path__))
    chosen = names if families is None else random.Random(7).sample(names, families)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in chosen:
            importlib.import_module(f"{cases.__name__}.{name}")
    return [case.model for case in cases._NodeTestCases if case.model is not None]


def data_files() -> list[Path]:
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data"
    return sorted(folder.rglob("*.onnx"))


def enriched(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy with the metadata real exporters write."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for element in (copy, copy.graph, *copy.graph.node, *copy.graph.input, *copy.graph.output, *copy.graph.initializer):
        element.doc_string = "doc"
        for value in ("1", "2"):
            entry = element.metadata_props.add()
            entry.key, entry.value = "twice", value
    for info in (*copy.graph.input, *copy.graph.output):
        info.type.denotation = "IMAGE"
        for dim in info.type.tensor_type.shape.dim if info.type.HasField("tensor_type") else ():
            dim.denotation = "DATA_BATCH"
    for name in [o for node in copy.graph.node for o in node.output if o][:2]:
        note = copy.graph.quantization_annotation.add()
        note.tensor_name = name
        entry = note.quant_parameter_tensor_names.add()
        entry.key, entry.value = "SCALE_TENSOR", name
    return copy


def touch(model: Model) -> None:
    """Read every constant, as passes do."""
    for owner in (model.graph, *model.functions):
        for graph in walk(owner):
            constants = [t for node in graph.nodes for t in node.inputs if isinstance(t, gs.Constant)]
            constants += [v for node in graph.nodes for v in node.attrs.values() if isinstance(v, gs.Constant)]
            for constant in constants:
                assert constant.values.shape == tuple(constant.shape)


def assert_lossless(proto: onnx.ModelProto) -> None:
    before = proto.SerializeToString(deterministic=True)
    model = load(proto)
    assert model.to_proto().SerializeToString(deterministic=True) == before
    touch(model)
    assert model.to_proto().SerializeToString(deterministic=True) == before
    assert model.copy().to_proto().SerializeToString(deterministic=True) == before
    assert model.snapshot().restore().to_proto().SerializeToString(deterministic=True) == before
    assert proto.SerializeToString(deterministic=True) == before


def sample() -> list[onnx.ModelProto]:
    models = backend_models(SAMPLED_FAMILIES)
    return random.Random(11).sample(models, min(len(models), SAMPLED_MODELS))


def test_a_sample_of_the_backend_models_comes_back_byte_for_byte() -> None:
    models = sample()
    assert len(models) > 20
    for proto in models:
        assert_lossless(proto)


def test_so_does_one_with_metadata_on_everything() -> None:
    for proto in sample():
        assert_lossless(enriched(proto))


@pytest.mark.slow
def test_every_backend_model_comes_back_byte_for_byte() -> None:
    for proto in backend_models():
        assert_lossless(proto)
        assert_lossless(enriched(proto))


@pytest.mark.slow
@pytest.mark.parametrize("path", data_files(), ids=lambda path: path.stem)
def test_every_model_file_of_onnx_is_saved_as_the_same_bytes(path: Path, tmp_path: Path) -> None:
    load(path).save(tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").read_bytes() == path.read_bytes()


def test_the_rich_model_comes_back_byte_for_byte(rich: onnx.ModelProto) -> None:
    assert_lossless(rich)


def test_a_models_bytes_and_path_mean_the_same_as_its_proto(rich: onnx.ModelProto, tmp_path: Path) -> None:
    data = rich.SerializeToString()
    (tmp_path / "m.onnx").write_bytes(data)
    assert load(data).to_proto() == rich
    assert load(tmp_path / "m.onnx").to_proto() == rich
    assert load(str(tmp_path / "m.onnx")).path == tmp_path / "m.onnx"


def test_saving_writes_what_the_proto_serializes_to(rich: onnx.ModelProto, tmp_path: Path) -> None:
    saved = load(rich).save(tmp_path / "m.onnx")
    data = (tmp_path / "m.onnx").read_bytes()
    assert onnx.ModelProto.FromString(data) == rich
    assert saved.model_bytes == len(data)
    load(data).save(tmp_path / "again.onnx")
    assert (tmp_path / "again.onnx").read_bytes() == data


def test_a_change_to_the_returned_proto_does_not_reach_the_model(rich: onnx.ModelProto) -> None:
    model = load(rich)
    model.to_proto().graph.node[0].name = "changed"
    rich.graph.node[0].name = "changed, too"
    assert model.to_proto().graph.node[0].name == "add"


def test_a_proto_without_a_graph_is_refused_only_when_strict() -> None:
    for proto in (onnx.ModelProto(), onnx.ModelProto(ir_version=8, producer_name="p")):
        with pytest.raises(BenchError, match="no graph"):
            load(proto)
        assert load(proto, strict=False).to_proto() == proto


def test_what_the_specification_forbids_comes_back_as_well_when_not_strict(rich: onnx.ModelProto) -> None:
    graph = rich.graph
    graph.initializer.append(graph.initializer[1])
    graph.initializer[3].raw_data = bytes(4 * 3 * 512)
    graph.input.append(graph.input[0])
    graph.node[0].input.append("nobody makes this")
    graph.node[1].attribute.append(graph.node[1].attribute[0])
    graph.node[4].output[0] = "t0"
    graph.output.append(onnx.ValueInfoProto(name="nor this"))
    model = load(rich, strict=False)
    assert {note.code for note in model.notes} >= {"duplicate-name", "dangling-value"}
    assert model.to_proto() == rich
    assert model.copy().to_proto() == rich


def test_names_that_are_no_utf8_come_back_and_can_be_renamed(rich: onnx.ModelProto) -> None:
    rich.graph.ClearField("value_info")
    rich.graph.node[1].ClearField("doc_string")
    rich.graph.node[1].ClearField("metadata_props")
    data = rich.SerializeToString().replace(b"t1", b"\xff1").replace(b"leaky", b"\xfe\xfdaky")
    model = load(data, strict=False)
    assert {note.code for note in model.notes} == {"name-not-utf8", "unknown-fields"}
    assert model.to_proto().SerializeToString() == data
    leaky = model.graph.nodes[1]
    assert leaky.outputs[0].name == "\udcff1"
    leaky.outputs[0].name = "\udcfe9"
    assert model.to_proto().SerializeToString() == data.replace(b"\xff1", b"\xfe9")
    leaky.outputs[0].name = "t1"
    leaky.name = "leaky"
    assert model.to_proto() == rich
