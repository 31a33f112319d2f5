import copy
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given

from hypergauss import Graph, Hypergraph
from hypergauss.exceptions import DataWarning
from tests.hypergraphs import hypergraphs, random_hypergraph

#: The paper's example, Appendix A.2: an incidence matrix and its two clique expansions.
INCIDENCE = np.array([[1, 0, 1, 0], [1, 1, 1, 1], [1, 0, 1, 1], [1, 1, 1, 1], [0, 1, 1, 0]])
WEIGHTED_CLIQUES = np.array([[0, 2, 2, 2, 1], [2, 0, 3, 4, 2], [2, 3, 0, 3, 1], [2, 4, 3, 0, 2], [1, 2, 1, 2, 0]])
BINARY_CLIQUES = 1 - np.eye(5)


@pytest.fixture
def bills():
    return Hypergraph.from_edges(
        {"b1": ["ana", "luis"], "b2": ["luis", "rosa", "juan"]}, weights={"b2": 3.0, "b1": 2.0}
    )


def test_clique_expansions_of_the_papers_example():
    H = Hypergraph.from_incidence(INCIDENCE)
    assert np.array_equal(H.clique_expansion().adjacency.toarray(), WEIGHTED_CLIQUES)
    assert np.array_equal(H.clique_expansion(weighted=False).adjacency.toarray(), BINARY_CLIQUES)


def test_every_constructor_gives_the_same_hypergraph():
    incidence = INCIDENCE[:, :3]
    names, edges = list("abcde"), ["x", "y", "z"]
    table = pd.DataFrame([(names[i], edges[j]) for i, j in np.argwhere(incidence)], columns=["who", "what"])
    made = [
        Hypergraph.from_incidence(incidence, names, edges),
        Hypergraph.from_incidence(sp.coo_matrix(incidence), names, edges),
        Hypergraph.from_incidence(pd.DataFrame(incidence, index=names, columns=edges)),
        Hypergraph.from_edges(
            {
                e: [v for v, member in zip(names, column, strict=True) if member]
                for e, column in zip(edges, incidence.T, strict=True)
            },
            vertices=names,
        ),
        Hypergraph.from_table(table, vertex="who", edge="what", vertices=names, edges=edges),
        Hypergraph.from_table(pd.concat([table, table]), vertex="who", edge="what", vertices=names, edges=edges),
    ]
    assert all(H.equals(made[0]) for H in made[1:])
    assert np.array_equal(made[0].incidence.toarray(), incidence)


def test_vertices_and_hyperedges_appear_in_order_of_first_mention():
    H = Hypergraph.from_table({"v": ["b", "a", "b"], "e": [7, 5, 5]}, vertex="v", edge="e")
    assert list(H.vertices) == ["b", "a"]
    assert list(H.edges) == [7, 5]
    assert H.incidence.toarray().tolist() == [[1, 1], [0, 1]]


def test_incidence_weights_of_a_table_add_up():
    table = {"v": ["a", "a", "b"], "e": ["x", "x", "x"], "r": [1.0, 2.5, 0.5]}
    H = Hypergraph.from_table(table, vertex="v", edge="e", weight="r")
    assert H.incidence.toarray().tolist() == [[3.5], [0.5]]


def test_members_given_as_a_dict_weigh_the_incidence():
    H = Hypergraph.from_edges([{"a": 2.0, "b": 0.5}, ["b", "c"]])
    assert H.incidence.toarray().tolist() == [[2, 0], [0.5, 1], [0, 1]]


def test_a_member_named_twice_is_one_member():
    assert Hypergraph.from_edges([["a", "a", "b"]]).incidence.toarray().tolist() == [[1], [1]]


@pytest.mark.parametrize("names", [[("a", 1), ("a", 2)], [1, "1"], [frozenset({1}), 2.5]])
def test_members_may_be_any_hashable(names):
    H = Hypergraph.from_edges([names, names[:1]])
    assert list(H.vertices) == names
    assert H.members(1) == names[:1]


def test_degrees_follow_their_definitions(bills):
    assert bills.vertex_degrees.tolist() == [2, 5, 3, 3]
    assert bills.edge_degrees.tolist() == [2, 3]
    assert bills.num_incidences == 5


def test_members_are_named_in_vertex_order(bills):
    assert bills.members("b2") == ["luis", "rosa", "juan"]
    with pytest.raises(ValueError, match=r"`edge` must belong to the 2 hyperedges. Got 'b3'"):
        bills.members("b3")


@given(hypergraphs())
def test_the_dual_turns_vertices_into_hyperedges(H):
    D = H.dual()
    assert np.allclose(D.incidence.toarray(), (H.incidence.toarray() * H.weights).T)
    assert D.vertices.equals(H.edges)
    assert D.edges.equals(H.vertices)


def test_the_duals_dual_is_the_original_without_weights():
    H = Hypergraph.from_incidence(INCIDENCE, vertices=list("abcde"))
    assert H.dual().dual().equals(H)


@given(hypergraphs())
def test_the_clique_expansion_counts_shared_hyperedges(H):
    R = H.incidence.toarray()
    N = H.num_vertices
    expected = np.array([[sum(H.weights * R[u] * R[v]) if u != v else 0.0 for v in range(N)] for u in range(N)])
    assert np.allclose(H.clique_expansion().adjacency.toarray(), expected)
    assert np.array_equal(H.clique_expansion(weighted=False).adjacency.toarray(), expected > 0)


def test_the_star_expansion_joins_each_vertex_to_its_hyperedges(bills):
    star = bills.star_expansion()
    assert star.num_vertices == 6
    assert star.num_edges == bills.num_incidences
    adjacency = pd.DataFrame(star.adjacency.toarray(), index=list(star.vertices), columns=list(star.vertices))
    assert adjacency.loc[[("vertex", "luis")], [("edge", "b2")]].to_numpy().item() == 3.0
    assert adjacency.loc[[("vertex", "ana")], [("edge", "b2")]].to_numpy().item() == 0.0


def test_a_subhypergraph_keeps_order_weights_and_emptied_hyperedges(bills):
    part = bills.subhypergraph(vertices=["rosa", "luis"], edges=["b2", "b1"])
    assert part.incidence.toarray().tolist() == [[1, 0], [1, 1]]
    assert part.weights.tolist() == [3, 2]
    assert bills.subhypergraph(vertices=["ana"]).edge_degrees.tolist() == [1, 0]


def test_new_vertices_are_isolated(bills):
    wider = bills.with_vertices(["zoe", "juan", "rosa", "luis", "ana"])
    assert list(wider.isolated_vertices) == ["zoe"]
    assert wider.members("b1") == ["luis", "ana"]
    with pytest.raises(ValueError, match="must belong to the 1 given names"):
        bills.with_vertices(["ana"])


def test_connected_components_are_numbered_by_first_vertex():
    H = Hypergraph.from_edges([["c", "d"], ["a", "b"], ["b", "a"], []], vertices=["a", "c", "x", "b", "d"])
    assert H.connected_components().tolist() == [0, 1, 2, 0, 1]


def test_a_hypergraph_cannot_be_changed(bills):
    for array in (bills.incidence.data, bills.incidence.indices, bills.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        bills.weights = None


def test_what_it_was_made_from_stays_changeable_and_apart():
    matrix, weights = sp.csr_array(INCIDENCE.astype(float)), np.ones(4)
    H = Hypergraph.from_incidence(matrix, weights=weights)
    matrix.data[:] = 5.0
    weights[:] = 5.0
    assert np.array_equal(H.incidence.toarray(), INCIDENCE)
    assert np.array_equal(H.weights, np.ones(4))


def test_copies_are_the_hypergraph_itself_and_pickles_equal_it(bills):
    assert copy.deepcopy(bills) is bills
    restored = pickle.loads(pickle.dumps(bills))
    assert restored.equals(bills)
    assert not restored.weights.flags.writeable


def test_equality_sees_names_incidence_and_weights(bills):
    assert not bills.equals(bills.subhypergraph(vertices=bills.vertices[::-1]))
    assert not bills.equals(Hypergraph.from_edges({e: bills.members(e) for e in bills.edges}))
    assert bills.equals(bills.subhypergraph(bills.vertices, bills.edges))


def test_its_text_counts_what_it_holds(bills):
    assert repr(bills) == "Hypergraph(4 vertices, 2 hyperedges, 5 incidences)"
    assert repr(Hypergraph.from_edges([["a"]])) == "Hypergraph(1 vertex, 1 hyperedge, 1 incidence)"


def test_its_notebook_table_escapes_names():
    html = Hypergraph.from_edges({"<e>": ["<script>"]})._repr_html_()
    assert "&lt;script&gt;" in html
    assert "<script>" not in html
    assert "<table>" in Hypergraph.from_edges([])._repr_html_()


def test_no_hyperedges_and_no_vertices_are_legal():
    assert Hypergraph.from_edges([], vertices=["a", "b"]).isolated_vertices.tolist() == ["a", "b"]
    assert Hypergraph.from_edges([]).incidence.shape == (0, 0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Hypergraph.from_edges([["a"], "bc"]), r"list of vertex names. Got 'bc' at position 1"),
        (lambda: Hypergraph.from_edges([3]), r"list of vertex names. Got 3 at position 0"),
        (lambda: Hypergraph.from_edges([["a", ["b"]]]), "hashable"),
        (lambda: Hypergraph.from_incidence([["x"]]), "`matrix` must hold numbers"),
        (lambda: Hypergraph.from_edges(None), "`edges` must be a list of hyperedges.* Got None"),
        (lambda: Hypergraph.from_edges(3), "`edges` must be a list of hyperedges.* Got 3"),
        (lambda: Hypergraph.from_incidence(None), "`matrix` must be an incidence matrix.* Got None"),
        (lambda: Hypergraph.from_table(None, vertex="v", edge="e"), "`frame` must be a DataFrame.* Got NoneType"),
        (lambda: Hypergraph.from_attributes({"legs": [4, 2]}), "`frame` must be a DataFrame.* Got dict"),
        (lambda: Hypergraph.from_edges([["a"]], weights=2.0), "`weights` must be a list .* or a dict.* Got 2.0"),
        (lambda: Hypergraph.from_attributes(pd.DataFrame({"a": [["x"], ["y"]]})), "'a' must hold values .*explode"),
        (lambda: Hypergraph.from_incidence(np.eye(2) * 1j), "`matrix` must hold real numbers. Got complex128"),
        (lambda: Hypergraph.from_incidence(sp.eye_array(2) * 1j), "`matrix` must hold real numbers. Got complex128"),
        (lambda: Hypergraph.from_edges([["a"]], weights=np.array([1 + 1j])), "`weights` must hold real numbers"),
    ],
)
def test_wrong_types_are_named(make, message):
    with pytest.raises(TypeError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Hypergraph.from_table(pd.DataFrame([[1, 2, 3]], columns=["v", "v", "e"]), vertex="v", edge="e"),
            "one column 'v'. It has several",
        ),
        (lambda: Hypergraph.from_edges([["a"]], weights=[-1.0]), "`weights` must be positive. Got -1 for hyperedge 0"),
        (lambda: Hypergraph.from_edges([["a"]], weights=[0.0]), "Leave a hyperedge out"),
        (lambda: Hypergraph.from_edges([["a"]], weights=[np.nan]), "`weights` must not contain NaN"),
        (lambda: Hypergraph.from_edges([["a"]], weights=[1.0, 2.0]), "same length. Got 1 and 2"),
        (lambda: Hypergraph.from_edges({"x": ["a"]}, weights={"y": 1.0}), "every hyperedge. 'x' has none"),
        (lambda: Hypergraph.from_edges([{"a": -2.0}]), "must not be negative. Got -2"),
        (lambda: Hypergraph.from_edges([["a", "b"]], vertices=["a"]), "must belong to the 1 given `vertices`. Got 'b'"),
        (lambda: Hypergraph.from_edges([["a"]], vertices=["a", "a"]), r"different names. 'a'"),
        (lambda: Hypergraph.from_edges([["a", None]]), "Row 1 has none"),
        (lambda: Hypergraph.from_incidence([[1.0, -1.0]]), "`matrix` must not be negative. Got -1"),
        (lambda: Hypergraph.from_incidence([[1.0, np.inf]]), r"NaN or infinity. Got inf at position \(0, 1\)"),
        (lambda: Hypergraph.from_incidence(sp.csr_array([[np.nan]])), "NaN or infinity. Got nan"),
        (lambda: Hypergraph.from_incidence([1.0, 2.0]), r"two dimensions.*Got shape \(2,\)"),
        (lambda: Hypergraph.from_incidence([[1], [1]], vertices=["a", "a"]), "different names. 'a'"),
        (lambda: Hypergraph.from_incidence([[1, 1]], edges=["e"]), "each of the 2 edges once. Got 1 names"),
        (lambda: Hypergraph.from_table({"v": [1]}, vertex="v", edge="e"), "a column 'e'. Its columns are v"),
        (lambda: Hypergraph.from_table({"v": [1]}, vertex="v", edge="v"), "columns of their own. Got 'v' for two"),
        (lambda: Hypergraph.from_table({"v": [1, 2], "e": [1]}, vertex="v", edge="e"), "same length. Got 2 and 1"),
        (
            lambda: Hypergraph.from_table({"v": ["a"], "e": ["y"]}, vertex="v", edge="e", edges=["x"]),
            "must belong to the 1 given `edges`. Got 'y'",
        ),
        (
            lambda: Hypergraph.from_table({"v": ["a", "b"], "e": ["x", None]}, vertex="v", edge="e"),
            "`e` must have a name in each row. Row 1 has none",
        ),
    ],
)
def test_bad_input_is_named_with_its_rule(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_unknown_vertices_are_told_with_the_next_step(bills):
    with pytest.raises(ValueError, match=r"must belong to the hypergraph \(4 vertices\). Got 'eva'.*from_edges"):
        bills.vertex_rows(["ana", "eva"])


def test_expansions_are_graphs_on_the_same_vertices():
    H = random_hypergraph(9, 5, seed=0)
    assert isinstance(H.clique_expansion(), Graph)
    assert H.clique_expansion().vertices.equals(H.vertices)


A_MILLION = """
import resource
import numpy as np
from hypergauss import Hypergraph

rng = np.random.default_rng(0)
N, n = 1_000_000, 5_000_000
table = {"v": rng.integers(N, size=n, dtype=np.int32), "e": rng.integers(N, size=n, dtype=np.int32)}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
H = Hypergraph.from_table(table, vertex="v", edge="e", vertices=range(N), edges=range(N))
growth = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
assert H.incidence.shape == (N, N) and H.num_incidences > 0.99 * n
print(growth / 1024)
"""


def test_a_million_by_a_million_with_five_million_incidences_takes_less_than_a_gigabyte():
    run = subprocess.run([sys.executable, "-c", A_MILLION], capture_output=True, text=True, check=True)
    assert float(run.stdout) < 1000  # MiB


def test_weights_in_a_series_go_by_hyperedge_name():
    H = Hypergraph.from_edges({"x": ["a"], "y": ["b"]}, weights=pd.Series({"y": 5.0, "x": 1.0}))
    assert H.weights.tolist() == [1.0, 5.0]
    with pytest.raises(ValueError, match=r"`weights` must name hyperedges. Got 'z'"):
        Hypergraph.from_edges({"x": ["a"]}, weights={"x": 1.0, "z": 2.0})


def test_each_attribute_value_is_a_hyperedge_and_a_missing_one_joins_none():
    table = pd.DataFrame({"legs": [4, 2, 2], "milk": ["yes", "no", None]}, index=["cat", "hen", "emu"])
    H = Hypergraph.from_attributes(table)
    assert {edge: H.members(edge) for edge in H.edges} == {
        ("legs", 2): ["hen", "emu"],
        ("legs", 4): ["cat"],
        ("milk", "no"): ["hen"],
        ("milk", "yes"): ["cat"],
    }


@pytest.mark.parametrize(
    "column",
    [np.linspace(0, 1, 30), [f"id {row}" for row in range(30)], [*range(25), *[25] * 5]],
    ids=["continuous", "id", "nearly"],
)
def test_a_column_that_tells_every_vertex_apart_is_named_in_a_warning(column):
    table = pd.DataFrame({"kind": ["x", "y"] * 15, "odd one": column})
    with pytest.warns(DataWarning, match=r"'odd one' \(\d\d\) belong to one vertex alone") as caught:
        H = Hypergraph.from_attributes(table)
    assert caught[0].filename == __file__
    assert ("kind", "x") in H.edges


def test_few_values_and_many_that_are_shared_are_no_reason_to_warn():
    Hypergraph.from_attributes(pd.DataFrame({"few": range(20), "shared": [*range(10)] * 2}))
    Hypergraph.from_attributes(pd.DataFrame({"pairs": [*range(30)] * 2}))


def test_a_series_of_lists_names_its_hyperedges_by_its_index():
    lists = pd.Series([["a", "b"], ["b"]], index=["x", "y"])
    assert Hypergraph.from_edges(lists).edges.tolist() == ["x", "y"]
    assert Hypergraph.from_edges(lists.reset_index(drop=True)).edges.tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"`edges` must have different names\. 'x'"):
        Hypergraph.from_edges(lists.set_axis(["x", "x"]))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_entries_listed_twice_add_up_beyond_what_their_type_can_hold(dtype):
    ones, at = np.ones(3000, dtype), np.zeros(3000, dtype=int)
    for matrix in (sp.coo_array((ones, (at, at)), shape=(1, 1)), sp.csr_array((ones, at, [0, 3000]), shape=(1, 1))):
        assert Hypergraph.from_incidence(matrix).incidence.toarray() == 3000.0
