"""Tables of all three kinds give the hypergraph that they describe, and mistakes in them are named."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypergauss import Hypergraph, read_table, write_table
from hypergauss.exceptions import FileError
from hypergauss.io.frames import read_frame

LONG = pd.DataFrame(
    {"who": ["ana", "luis", "luis", "rosa"], "bill": ["b1", "b1", "b2", "b2"], "share": [1.0, 2, 3, 0.5]}
)


def save(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "csv.gz"])
def test_the_first_two_columns_are_vertex_and_hyperedge(tmp_path, ending):
    H = read_table(save(LONG, tmp_path / f"t.{ending}"))
    assert H.equals(Hypergraph.from_edges({"b1": ["ana", "luis"], "b2": ["luis", "rosa"]}))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_columns_can_be_named_and_weighted(tmp_path, ending):
    path = save(LONG[["share", "bill", "who"]], tmp_path / f"t.{ending}")
    H = read_table(path, vertex="who", edge="bill", weight="share", vertices=["rosa", "luis", "ana", "eva"])
    assert H.incidence.toarray().tolist() == [[0, 0.5], [2, 3], [1, 0], [0, 0]]


def test_text_whose_ending_tells_nothing_is_looked_into(tmp_path):
    (tmp_path / "t.txt").write_text("v;e\na;1\nb;1\n")
    H = read_table(tmp_path / "t.txt")
    assert H.vertices.tolist() == ["a", "b"]
    assert H.edges.tolist() == [1]


def test_one_row_a_hyperedge_with_members_in_one_cell(tmp_path):
    (tmp_path / "t.csv").write_text("bill,by,size\nb1, ana ; luis,2\nb2,luis;rosa;luis,3\nb3,,1\n")
    H = read_table(tmp_path / "t.csv", edge="bill", members="by", edge_weight="size")
    expected = {"b1": ["ana", "luis"], "b2": ["luis", "rosa"], "b3": []}
    assert H.equals(Hypergraph.from_edges(expected, weights=[2, 3, 1]))


def test_one_row_a_hyperedge_with_lists_of_parquet(tmp_path):
    frame = pd.DataFrame({"bill": ["b1", "b2", "b3"], "by": [[1, 2], [], [2, 3, 2]]})
    path = save(frame, tmp_path / "t.parquet")
    H = read_table(path, edge="bill", members="by")
    assert H.equals(Hypergraph.from_edges({"b1": [1, 2], "b2": [], "b3": [2, 3]}))
    assert read_table(path, members="by").edges.tolist() == [0, 1, 2]


def test_names_that_only_look_like_numbers_stay_text(tmp_path):
    (tmp_path / "t.csv").write_text("v,e\n007,1\n7,2\nNA,03\n")
    H = read_table(tmp_path / "t.csv")
    assert H.vertices.tolist() == ["007", "7", "NA"]
    assert H.edges.tolist() == ["1", "2", "03"]


def test_whole_numbers_are_whole_numbers_from_text_and_parquet_alike(tmp_path):
    frame = pd.DataFrame({"v": [3, 10, 3], "e": [0, 0, -1]})
    assert read_table(save(frame, tmp_path / "t.csv")).equals(read_table(save(frame, tmp_path / "t.parquet")))
    assert read_table(tmp_path / "t.csv").vertices.dtype == np.int64


cell = st.text(st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\ufeff"), min_size=1, max_size=4)
name = cell.filter(lambda text: text.strip() == text and text != "")


@given(pairs=st.lists(st.tuples(name, name), min_size=1, max_size=8), ending=st.sampled_from(["csv", "tsv", "parquet"]))
def test_what_is_written_is_read_again(tmp_path_factory, pairs, ending):
    path = tmp_path_factory.mktemp("t") / f"t.{ending}"
    H = Hypergraph.from_table({"v": [v for v, _ in pairs], "e": [e for _, e in pairs]}, vertex="v", edge="e")
    write_table(H, path)
    again = read_table(path)
    texts = again.vertices.map(str), again.edges.map(str)
    assert set(texts[0]) == set(H.vertices)
    assert set(texts[1]) == set(H.edges)
    assert again.num_incidences == H.num_incidences


def test_weights_of_memberships_are_written(tmp_path, hypergraph):
    write_table(hypergraph, tmp_path / "t.parquet")
    again = read_table(tmp_path / "t.parquet", weight="weight", vertices=hypergraph.vertices)
    members = np.diff(hypergraph.incidence.tocsc().indptr) > 0
    assert abs(again.incidence[:, :] - hypergraph.incidence[:, members]).max() == 0


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "is empty"),
        ("\n\n", {}, "no columns"),
        ("name;party\n", {}, "two columns at least"),
        ("vertex,edge\na,\n", {}, r"Row 1 has no 'edge'"),
        ("vertex,edge\na,1\nb,2\n,3\n,4\n", {}, r"Row 3 has no 'vertex' and 1 other"),
        ("vertex,edge\na,1\n", {"vertex": "vertx"}, r"a column 'vertx'. Did you mean 'vertex'\?"),
        ("vertex,edge\na,1\n", {"weight": "colour"}, "Its columns are vertex, edge"),
        ("vertex,edge,w\na,1,heavy\n", {"weight": "w"}, "numbers in 'w'. Row 1 has 'heavy'"),
        ("vertex,edge,w\na,1,-2\n", {"weight": "w"}, "must not be negative"),
        ("vertex,edge\na,1\nb,2,3\n", {}, "cannot be read as a table|same columns"),
        ('vertex,edge\n"a,1\n', {}, "cannot be read as a table"),
        ("e,m\nx,a\nx,b\n", {"edge": "e", "members": "m"}, "'x' occurs twice"),
        ("vertex,edge\na,1\n", {"encoding": "klingon"}, "klingon"),
        ("vertex,edge\na,1,x\nb,2,y\n", {}, r"Row 1, which begins with 'a', has 3"),
        ("vertex,edge\na,1,\nb,2,\n", {}, r"column names, 2\. Row 1.* separators at the end"),
        ("vertex,edge\na,1,x,y\n", {}, r"Row 1, which begins with 'a', has 4"),
        ("a,1\nb,1\n", {}, r"first line.*'1' is a name.*--no-header"),
        ("a,1\na,2\n", {}, r"first line.*'a' is a name"),
        ("1,2\n3,4\n", {}, "'1' is a number above numbers"),
        ("name,0.5\na,1.5\n", {}, "'0.5' is a number above numbers"),
        ("e,m,w\nx,a;b,2\n", {"members": "m", "weight": "w"}, None),
        ("e,m,w\nx,a;b,2\n", {"members": "m", "vertex": "e"}, None),
        ("vertex,edge\na,1\n", {"vertex": "edge"}, None),
        ("vertex,edge\na,1\n", {"vertex": "edge", "edge": "edge"}, None),
    ],
)
def test_mistakes_are_named(tmp_path, text, options, message):
    (tmp_path / "t.csv").write_text(text)
    wrong_options = message is None  # a mistake in the call, not in the file
    with pytest.raises(ValueError if wrong_options else FileError, match="Got" if wrong_options else message):
        read_table(tmp_path / "t.csv", **options)


def test_a_file_without_a_header_loses_nothing(tmp_path):
    (tmp_path / "t.csv").write_text("a,1,2.5\nb,1,1\na,2,1\n")
    H = read_table(tmp_path / "t.csv", header=False)
    assert {edge: H.members(edge) for edge in H.edges} == {1: ["a", "b"], 2: ["a"]}
    assert read_table(tmp_path / "t.csv", header=False, weight="3").incidence[0, 0] == 2.5
    assert read_table(tmp_path / "t.csv", header=False, vertex="2", edge="1").vertices.tolist() == [1, 2]


def test_a_first_line_of_numbers_is_a_header_if_columns_are_named_by_it(tmp_path):
    (tmp_path / "t.csv").write_text("0,1\n0,7\n1,7\n")
    assert read_table(tmp_path / "t.csv", vertex="0", edge="1").members(7) == [0, 1]


@pytest.mark.parametrize("options", [{"header": False}, {"separator": ";"}])
def test_what_is_of_text_files_is_refused_of_parquet(tmp_path, options):
    with pytest.raises(ValueError, match="which is Parquet"):
        read_table(save(LONG, tmp_path / "t.parquet"), **options)


def test_another_encoding_is_named_and_can_be_asked_for(tmp_path):
    (tmp_path / "t.csv").write_bytes("who,bill\nMuñoz,b1\n".encode("latin-1"))
    with pytest.raises(FileError, match=r"UTF-8\. Byte 0xf1 in line 2 is not.*--encoding"):
        read_table(tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv", encoding="latin-1").vertices.tolist() == ["Muñoz"]


def test_a_damaged_parquet_file_and_one_without_ending_are_refused(tmp_path):
    path = save(LONG, tmp_path / "t.parquet")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FileError, match="cannot be read as Parquet"):
        read_table(path)
    with pytest.raises(FileError, match=r"must end in \.csv"):
        read_table(path.rename(tmp_path / "table"))


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("old")

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(pd.DataFrame, "to_csv", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_table(Hypergraph.from_edges([["a"]]), path)
    assert path.read_text() == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["t.csv"]


def test_frames_keep_named_columns_as_text(tmp_path):
    (tmp_path / "t.csv").write_text("v,y\n01,1.5\n02,NA\n")
    frame = read_frame(tmp_path / "t.csv", text=[0])
    assert frame["v"].tolist() == ["01", "02"]
