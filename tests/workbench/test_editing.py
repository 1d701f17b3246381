"""Edits give a new model that the checker takes and that computes the part it was cut from."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from exec.errors import OptionError
from passes.optimize import optimize
from workbench import Model, Session, load
from workbench.editing import drop_outputs, extract, inputs_to_weights, rename, set_dims, strip
from workbench.render.optimizing import report_tables
from workbench.samples import sample


@pytest.fixture
def cnn() -> Model:
    return load(sample("digits_cnn.onnx"))


def checked(model: Model) -> onnx.ModelProto:
    proto = model.to_proto()
    onnx.checker.check_model(proto, full_check=True)
    return proto


def test_a_part_computes_what_the_whole_does_there(cnn: Model) -> None:
    image = np.random.default_rng(0).random((2, 1, 8, 8), np.float32)
    inner = [n.outputs[0].name for n in cnn.graph.nodes]
    whole = Session(cnn).run({"image": image}, [inner[2], inner[6]])
    part = extract(cnn, [inner[2]], [inner[6]])
    checked(part)
    assert len(part.graph.nodes) == 4
    got = Session(part).run({inner[2]: whole[inner[2]]})
    np.testing.assert_allclose(got[inner[6]], whole[inner[6]], rtol=1e-5, atol=1e-6)


def test_an_input_that_was_not_given_is_named(cnn: Model) -> None:
    inner = [n.outputs[0].name for n in cnn.graph.nodes]
    with pytest.raises(OptionError) as caught:
        extract(cnn, [inner[6]], [inner[2]])
    assert "image" in caught.value.why


def test_rename_reaches_every_reader_and_refuses_a_name_that_is_taken(cnn: Model) -> None:
    renamed = checked(rename(cnn, {"image": "pixels", "logits": "scores"}))
    assert (renamed.graph.input[0].name, renamed.graph.output[0].name) == ("pixels", "scores")
    with pytest.raises(OptionError):
        rename(cnn, {"image": "logits"})
    with pytest.raises(OptionError):
        rename(cnn, {"image": "one", "logits": "one"})
    with pytest.raises(OptionError) as caught:
        rename(cnn, {"imge": "logits"})
    assert (caught.value.what, "image" in caught.value.hint) == ("nothing is called 'imge'", True)


def test_two_names_change_places(cnn: Model) -> None:
    swapped = checked(rename(cnn, {"image": "logits", "logits": "image"}))
    assert (swapped.graph.input[0].name, swapped.graph.output[0].name) == ("logits", "image")


def test_a_symbol_gets_its_size_everywhere(cnn: Model) -> None:
    fixed = checked(set_dims(cnn, {"batch": 4}))
    assert [d.dim_value for d in fixed.graph.input[0].type.tensor_type.shape.dim] == [4, 1, 8, 8]
    assert fixed.graph.output[0].type.tensor_type.shape.dim[0].dim_value == 4


def test_the_last_output_stays(cnn: Model) -> None:
    with pytest.raises(OptionError):
        drop_outputs(cnn, ["logits"])


def test_strip_takes_provenance_away_and_nothing_else(cnn: Model) -> None:
    cnn.graph.nodes[0].metadata = {"owb.source": "[]", "mine": "kept"}
    proto = checked(strip(cnn))
    assert [(p.key, p.value) for p in proto.graph.node[0].metadata_props] == [("mine", "kept")]


def test_the_argument_is_never_changed(cnn: Model) -> None:
    before = cnn.to_proto().SerializeToString(deterministic=True)
    extract(cnn, [], [cnn.graph.nodes[3].outputs[0].name])
    rename(cnn, {"image": "pixels"})
    set_dims(cnn, {"batch": 1})
    strip(cnn, docs=True, metadata=True)
    assert cnn.to_proto().SerializeToString(deterministic=True) == before


def test_frozen_inputs_are_weights_that_rewrites_fold() -> None:
    proto = load(sample("digits_cnn.onnx")).to_proto()
    listed = [onnx.helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in proto.graph.initializer]
    proto.graph.input.extend(listed)
    model = load(proto)
    kept = optimize(model, verify=False, overridable="keep").model
    assert len(kept.graph.inputs) == 1 + len(listed)
    assert any(n.op == "BatchNormalization" for n in kept.graph.nodes)
    report = optimize(model, verify=False, overridable="keep").report
    assert report.overridable == len(listed)
    assert "`owb edit inputs-to-weights`" in report_tables(report)[-1].caption
    frozen = inputs_to_weights(model)
    checked(frozen)
    assert [t.name for t in frozen.graph.inputs] == ["image"]
    assert not any(n.op == "BatchNormalization" for n in optimize(frozen, verify=False).model.graph.nodes)
    one = inputs_to_weights(model, [listed[0].name])
    assert len(one.graph.inputs) == len(listed)
    with pytest.raises(OptionError, match="no overridable initializer 'image'"):
        inputs_to_weights(model, ["image"])
