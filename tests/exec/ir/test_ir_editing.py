"""The linear helpers: uses, removal, order, names."""

from __future__ import annotations

import random
from time import process_time

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exec.errors import InvalidModel
from exec.ir import (
    Constant,
    Graph,
    Model,
    Names,
    Node,
    Variable,
    load,
    prune,
    reads,
    remove_nodes,
    replace_all_uses,
    toposort,
    unique_name,
    walk,
)


def parse(text: str) -> Model:
    return load(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}'))


BRANCHED = """g (float[2] x, bool c) => (float[2] y) {
    a = Relu (x)
    b = Neg (x)
    z = If (c) <then_branch = t () => (float[2] p) { p = Abs (a) }, else_branch = e () => (float[2] q) { q = Exp (b) }>
    y = Add (z, a)
}"""


def consistent(model: Model) -> None:
    """Both sides of every link agree, and no link leads out of the model."""
    graphs = list(walk(model.graph))
    nodes = {id(node) for graph in graphs for node in graph.nodes}
    for graph in graphs:
        for node in graph.nodes:
            for tensor in node.inputs:
                assert sum(reader is node for reader in tensor.outputs) == sum(t is tensor for t in node.inputs)
                assert all(id(reader) in nodes for reader in tensor.outputs)
            for tensor in node.outputs:
                assert any(producer is node for producer in tensor.inputs)


def test_walk_gives_outer_graphs_before_inner_ones() -> None:
    assert [graph.name for graph in walk(parse(BRANCHED).graph)] == ["g", "t", "e"]


def test_a_node_reads_what_its_subgraphs_capture() -> None:
    model = parse(BRANCHED)
    assert {tensor.name for tensor in reads(model.graph.nodes[2])} == {"c", "a", "b", "p", "q"}


def test_uses_are_replaced_in_nodes_and_subgraphs_and_not_in_the_models_outputs() -> None:
    model = parse(BRANCHED)
    x, a = model.graph.inputs[0], model.graph.nodes[0].outputs[0]
    replace_all_uses(model.graph, a, x)
    assert [n.name for n in model.graph.nodes[3].inputs] == ["z", "x"]
    assert model.graph.nodes[2].attrs["then_branch"].nodes[0].inputs[0] is x
    assert a.outputs == []
    consistent(model)
    output = model.graph.outputs[0]
    replace_all_uses(model.graph, output, x)
    assert model.graph.outputs[0] is output


def test_an_output_of_a_subgraph_follows_only_to_what_the_subgraph_makes_itself() -> None:
    model = parse(BRANCHED)
    then = model.graph.nodes[2].attrs["then_branch"]
    p, x = then.outputs[0], model.graph.inputs[0]
    replace_all_uses(model.graph, p, x)
    assert then.outputs == [p]
    r = Variable("r")
    then.nodes.append(Node("Neg", "neg", None, [p], [r]))
    replace_all_uses(model.graph, p, r)
    then.nodes[-1].inputs[0] = p
    assert then.outputs == [r]
    onnx.checker.check_model(model.to_proto())


def test_a_tensor_read_twice_by_one_node_is_replaced_twice() -> None:
    model = parse("g (float[2] x) => (float[2] y) { a = Relu (x)  y = Add (a, a) }")
    replace_all_uses(model.graph, model.graph.nodes[0].outputs[0], model.graph.inputs[0])
    assert [t.name for t in model.graph.nodes[1].inputs] == ["x", "x"]
    consistent(model)


def test_removed_nodes_leave_no_links() -> None:
    model = parse(BRANCHED)
    x = model.graph.inputs[0]
    remove_nodes(model.graph, model.graph.nodes[:2])
    assert x.outputs == []
    assert [n.op for n in model.graph.nodes] == ["If", "Add"]
    remove_nodes(model.graph, [])
    assert len(model.graph.nodes) == 2


def test_prune_removes_chains_of_dead_nodes_with_their_subgraphs() -> None:
    model = parse(BRANCHED)
    add = model.graph.nodes[3]
    add.inputs[0] = add.inputs[1]
    gone = prune(model.graph)
    assert {n.op for n in gone} == {"If", "Neg"}
    assert [n.op for n in model.graph.nodes] == ["Relu", "Add"]
    consistent(model)
    onnx.checker.check_model(model.to_proto())


def test_prune_keeps_what_a_subgraph_captures() -> None:
    model = parse(BRANCHED)
    assert prune(model.graph) == []


def test_prune_from_candidates_leaves_the_authors_dead_nodes() -> None:
    model = parse("g (float[2] x) => (float[2] y) { dead = Neg (x)  a = Relu (x)  b = Abs (a)  y = Exp (x) }")
    gone = prune(model.graph, [model.graph.nodes[2]])
    assert [n.op for n in gone] == ["Abs", "Relu"]
    assert [n.op for n in model.graph.nodes] == ["Neg", "Exp"]


def test_sorting_keeps_a_list_that_is_in_order() -> None:
    model = parse(BRANCHED)
    nodes = list(model.graph.nodes)
    toposort(model.graph)
    assert model.graph.nodes == nodes


def test_sorting_counts_what_subgraphs_capture() -> None:
    model = parse(BRANCHED)
    model.graph.nodes.reverse()
    toposort(model.graph)
    # Stable: of what is free, the first in the list comes first.
    assert [n.op for n in model.graph.nodes] == ["Neg", "Relu", "If", "Add"]
    onnx.checker.check_model(model.to_proto())


def test_a_cycle_names_a_node_on_it() -> None:
    model = parse("g (float[2] x) => (float[2] y) { a = Relu (x)  b = Neg (a)  c = Abs (b)  y = Exp (c) }")
    relu, neg = model.graph.nodes[:2]
    relu.inputs[0] = neg.outputs[0]
    relu.name, neg.name = "relu", "neg"
    with pytest.raises(InvalidModel, match="cycle") as caught:
        toposort(model.graph)
    assert "relu" in caught.value.where or "neg" in caught.value.where


def chain(count: int) -> Graph:
    tensors = [Variable(f"t{i}", np.dtype(np.float32), [1]) for i in range(count + 1)]
    shared = Constant("w", np.ones(1, np.float32))
    nodes = [Node("Add", f"n{i}", None, [tensors[i], shared], [tensors[i + 1]]) for i in range(count)]
    return Graph(nodes, [tensors[0]], [tensors[-1]], opset=17)


@given(st.integers(2, 40), st.randoms(use_true_random=False))
def test_any_order_of_a_sortable_graph_is_sorted(count: int, rng: random.Random) -> None:
    graph = chain(count)
    wanted = list(graph.nodes)
    rng.shuffle(graph.nodes)
    toposort(graph)
    assert graph.nodes == wanted


def test_helpers_take_time_in_proportion() -> None:
    """Ten times the nodes, about ten times the time: a quadratic helper takes a hundred times."""

    def seconds(count: int) -> float:
        graph = chain(count)
        graph.nodes.reverse()
        began = process_time()
        toposort(graph)
        shared = graph.nodes[0].inputs[1]
        replace_all_uses(graph, shared, Constant("v", np.ones(1, np.float32)))
        graph.outputs[:] = [graph.nodes[count // 2].outputs[0]]
        prune(graph)
        remove_nodes(graph, graph.nodes[::2])
        return process_time() - began

    small = min(seconds(1000) for _ in range(3))
    assert seconds(10_000) < 60 * small


def test_names_are_free_everywhere_in_the_graph() -> None:
    model = parse(BRANCHED)
    assert unique_name(model.graph, "fresh") == "fresh"
    assert unique_name(model.graph, "p") == "p_1"
    names = Names(model.graph)
    assert [names.unique("a") for _ in range(3)] == ["a_1", "a_2", "a_3"]
    assert names.unique("") == "_1"
