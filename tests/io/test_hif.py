"""HIF files are read and written without loss, and what is no HIF is refused with a sentence."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypergauss import Hypergraph, datasets, read_hif, write_hif
from hypergauss.exceptions import DataWarning, FileError
from hypergauss.io.hif import from_hif, to_hif
from tests.hypergraphs import hypergraphs
from tests.io.awkward import noted, same

names = st.one_of(st.text(max_size=3), st.integers(-(2**70), 2**70))
attrs = st.dictionaries(st.text(max_size=3), st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=3)))
records = {
    "incidences": st.fixed_dictionaries(
        {"edge": names, "node": names},
        optional={
            "weight": st.one_of(st.just(0), st.floats(0.125, 8), st.floats(-8, -0.125)),
            "direction": st.sampled_from(["head", "tail"]),
            "attrs": attrs,
        },
    ),
    "nodes": st.fixed_dictionaries({"node": names}, optional={"weight": st.floats(-8, 8), "attrs": attrs}),
    "edges": st.fixed_dictionaries({"edge": names}, optional={"weight": st.floats(0.125, 8), "attrs": attrs}),
}
files = st.fixed_dictionaries(
    {"incidences": st.lists(records["incidences"], max_size=5)},
    optional={
        "nodes": st.lists(records["nodes"], max_size=4),
        "edges": st.lists(records["edges"], max_size=4),
        "metadata": attrs,
        "network-type": st.sampled_from(["undirected", "directed", "asc"]),
    },
)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.floats(allow_nan=False), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                ["incidences", "nodes", "edges", "metadata", "network-type", "edge", "node", "weight", "x"]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


def test_a_file_keeps_all_that_a_hypergraph_knows(tmp_path):
    write_hif(noted(), tmp_path / "h.json")
    assert same(noted(), read_hif(tmp_path / "h.json"))


@given(hypergraphs())
def test_any_hypergraph_survives_a_round_trip(H):
    assert from_hif(json.loads(json.dumps(to_hif(H)))).equals(H)


@pytest.mark.filterwarnings("ignore::hypergauss.exceptions.DataWarning")
@given(files)
def test_what_was_read_is_written_again(content):
    H = from_hif(content)
    again = from_hif(json.loads(json.dumps(to_hif(H))))
    assert again.equals(H)
    assert again.attributes == H.attributes
    assert {record["node"] for record in [*content["incidences"], *content.get("nodes", [])]} == set(H.vertices)
    assert {record["edge"] for record in [*content["incidences"], *content.get("edges", [])]} == set(H.edges)


@pytest.fixture(scope="module")
def schema():
    folder = os.environ.get("HYPERGAUSS_DATA")
    if not folder or not Path(folder, "hif", "hif_schema.json").exists():
        pytest.skip("HYPERGAUSS_DATA is not set: HIF's schema is not at hand")
    jsonschema = pytest.importorskip("jsonschema")
    return jsonschema.Draft7Validator(json.loads(Path(folder, "hif", "hif_schema.json").read_text()))


@pytest.mark.filterwarnings("ignore::hypergauss.exceptions.DataWarning")
@given(content=st.one_of(files, json_values, st.fixed_dictionaries({"incidences": st.lists(json_values, max_size=2)})))
def test_what_the_schema_allows_is_read_and_what_it_forbids_is_not(schema, content):
    try:
        from_hif(content)
        refused = False
    except FileError:
        refused = True
    except ValueError:  # allowed by HIF, but not a weight that a hypergraph can have
        refused = False
    assert refused is not schema.is_valid(content)


def test_what_is_written_follows_the_schema(schema):
    schema.validate(to_hif(noted()))
    schema.validate(to_hif(datasets.load_zoo().hypergraph, names=str))


def test_another_reader_understands_what_is_written(tmp_path):
    xgi = pytest.importorskip("xgi")
    H = Hypergraph.from_edges({"e": ["a", "b"], "empty": []}, vertices=["a", "b", "lonely"])
    write_hif(H, tmp_path / "h.json")
    network = xgi.read_hif(tmp_path / "h.json")
    assert set(network.nodes) == {"a", "b", "lonely"}
    assert network.edges.members("e") == {"a", "b"}
    assert "empty" in network.edges
    xgi.write_hif(network, tmp_path / "x.json")
    assert same(H.with_attributes(network_type="undirected"), read_hif(tmp_path / "x.json"))


def test_a_whole_number_may_be_written_with_a_point():
    assert from_hif({"incidences": [{"edge": 1.0, "node": 2}]}).edges.tolist() == [1]


def test_a_membership_listed_twice_counts_once_or_adds_up():
    pair = {"edge": "e", "node": "v"}
    assert from_hif({"incidences": [pair, pair]}).incidence[0, 0] == 1
    assert from_hif({"incidences": [pair, pair | {"weight": 2.0}]}).incidence[0, 0] == 3


def test_a_membership_of_weight_zero_is_none_but_not_forgotten():
    content = {"incidences": [{"edge": "e", "node": "v", "weight": 0, "attrs": {"why": "absent"}}]}
    H = from_hif(content)
    assert (H.num_vertices, H.num_edges, H.num_incidences) == (1, 1, 0)
    assert to_hif(H)["incidences"] == content["incidences"]
    assert H.dual().attributes.absent == {("e", "v"): 0.0}
    assert H.subhypergraph(vertices=[]).attributes.absent == {}


def test_a_membership_of_negative_weight_is_none_but_not_forgotten():
    pair = {"edge": "e", "node": "v"}
    content = {"incidences": [{"edge": "e", "node": "w"}, pair | {"weight": -2.0, "attrs": {"why": "against"}}]}
    with pytest.warns(DataWarning, match="none to the model. Got -2 for 'v' in 'e'"):
        H = from_hif(content)
    assert H.members("e") == ["w"]
    assert H.attributes.absent == {("v", "e"): -2.0}
    assert to_hif(H)["incidences"] == content["incidences"]
    # Weights add up first: what is left over counts.
    assert from_hif({"incidences": [pair | {"weight": 3}, pair | {"weight": -1}]}).incidence[0, 0] == 2


#: The kinds of file that the standard's own tests accept and refuse, in our words.
STANDARD = [
    ({"incidences": []}, True),
    ({"incidences": [], "nodes": [{"node": 1}]}, True),
    ({"incidences": [], "edges": [{"edge": "meeting", "attrs": {"room": 3}}]}, True),
    ({"incidences": [{"edge": "meeting", "node": 1, "attrs": {"late": True}}]}, True),
    ({"incidences": [{"edge": "flow", "node": 1, "direction": "tail"}], "network-type": "directed"}, True),
    ({"incidences": [], "metadata": {"author": {"name": "someone"}}}, True),
    ({"incidences": [{"edge": "e", "node": 1}], "nodes": [{"node": 1, "weight": -2.5}]}, True),
    ({}, False),
    ({"incidences": [], "vertices": []}, False),
    ({"incidences": [], "network-type": "bipartite"}, False),
    ({"incidences": [], "nodes": [{"weight": 1.0}]}, False),
    ({"incidences": [], "nodes": [{"node": 1, "colour": "red"}]}, False),
    ({"incidences": [], "edges": [{"edge": 1, "colour": "red"}]}, False),
    ({"incidences": [{"edge": 1, "node": 1, "colour": "red"}]}, False),
    ({"incidences": [], "metadata": ["a list"]}, False),
    ({"incidences": [{"edge": ["a list"], "node": 1}]}, False),
]


@pytest.mark.parametrize(("content", "is_valid"), STANDARD)
def test_what_the_standard_accepts_is_kept_and_what_it_refuses_is_refused(content, is_valid):
    if not is_valid:
        with pytest.raises(FileError):
            from_hif(content)
        return
    again = to_hif(from_hif(content))
    for part in ("incidences", "metadata", "network-type"):
        assert again.get(part) == content.get(part)
    for part in ("nodes", "edges"):
        assert all(record in again[part] for record in content.get(part, []))


@pytest.mark.parametrize(("content", "is_valid"), STANDARD)
def test_the_schema_says_the_same(schema, content, is_valid):
    assert schema.is_valid(content) is is_valid


def test_names_of_other_kinds_need_a_function(tmp_path):
    zoo = datasets.load_zoo().hypergraph
    with pytest.raises(ValueError, match="names=str"):
        write_hif(zoo, tmp_path / "zoo.json")
    assert not list(tmp_path.iterdir())
    write_hif(zoo, tmp_path / "zoo.json", names=str)
    assert read_hif(tmp_path / "zoo.json").num_incidences == zoo.num_incidences


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must be JSON"),
        ("[1, 2", "must be JSON"),
        ("[" * 100_000, "must be JSON"),
        ('{"incidences": [{"edge": "e", "node": "v", "weight": NaN}]}', "NaN"),
        ('{"incidences": [{"edge": "e", "node": "v", "weight": 1' + "0" * 400 + "}]}", "does not follow|no hypergraph"),
        ("[]", "an object with 'incidences'"),
        ("{}", "must have 'incidences'"),
        ('{"incidences": {}}', "must be a list"),
        ('{"incidences": [], "colour": 1}', "may not have 'colour'"),
        ('{"incidences": [{"edge": "e"}]}', "must have 'node'"),
        ('{"incidences": [{"edge": "e", "node": null}]}', "text or a whole number. Got null"),
        ('{"incidences": [{"edge": "e", "node": 1.5}]}', "Got a number"),
        ('{"incidences": [{"edge": "e", "node": "v", "weight": "2"}]}', "weight must be a number. Got text"),
        ('{"incidences": [{"edge": "e", "node": "v", "weight": -1e999}]}', "NaN or infinity"),
        ('{"incidences": [], "edges": [{"edge": "e", "weight": 0}]}', "must be positive"),
        ('{"incidences": [{"edge": "e", "node": "v", "direction": "up"}]}', "'head' or 'tail'"),
        ('{"incidences": [], "network-type": "square"}', "network-type"),
        ('{"incidences": [], "metadata": 3}', "'metadata' must be an object"),
    ],
)
def test_a_file_that_is_no_hif_is_refused_with_a_sentence(tmp_path, text, message):
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(FileError, match=message) as error:
        read_hif(path)
    assert "bad.json" in str(error.value)


def test_a_file_in_another_encoding_says_so(tmp_path):
    (tmp_path / "bad.json").write_bytes('{"incidences": [{"edge": "año", "node": "v"}]}'.encode("latin-1"))
    with pytest.raises(FileError, match=r"UTF-8.*0xf1"):
        read_hif(tmp_path / "bad.json")


def test_a_folder_and_a_missing_file_are_named(tmp_path):
    (tmp_path / "votes.json").write_text("{}")
    with pytest.raises(IsADirectoryError, match=r"is a folder\. It holds votes\.json"):
        read_hif(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"Did you mean 'votes.json'\?"):
        read_hif(tmp_path / "vote.json")


def test_attributes_that_json_cannot_hold_leave_no_file(tmp_path):
    H = Hypergraph.from_edges([["a"]]).with_attributes(metadata={"what": object()})
    with pytest.raises(FileError, match="what JSON can hold"):
        write_hif(H, tmp_path / "h.json")
    assert not list(tmp_path.iterdir())
