"""Fetched data agree with the statistics in their PROVENANCE.md; a small folder made here stands in elsewhere."""

import numpy as np
import pytest
import scipy.sparse as sp

from hypergauss.datasets import fetch_cora_coauthorship, fetch_peru_congress


@pytest.fixture
def small_folder(tmp_path, monkeypatch):
    """Three legislators who signed two bills, and three papers of one author."""
    peru = tmp_path / "peru-congress-2006-2011"
    peru.mkdir()
    (peru / "vertices_2007.csv").write_text(
        "vertex,legislator_id,name,parliamentary_group,group_share,label,label_as_elected\n"
        "0,7,Zárate,Left,1.0,opposition,opposition\n"
        "1,3,Abad,Right,0.5,government,government\n"
        "2,5,Mora,Right,1.0,government,government\n",
        encoding="utf-8",
    )
    (peru / "hyperedges_2007.txt").write_text("2,1\n1,0\n")
    (peru / "hyperedge_info_2007.csv").write_text(
        "hyperedge,bill_id,date,parliamentary_group,size\n"
        "0,00851,2007-01-10,Right,2\n"
        "1,00853,2007-01-11,Multipartidario,2\n"
    )
    cora = tmp_path / "cora-coauthorship"
    cora.mkdir()
    (cora / "vertices.csv").write_text("vertex,label\n0,3\n1,2\n2,3\n")
    (cora / "hyperedges.txt").write_text("0,2\n")
    sp.save_npz(cora / "features.npz", sp.csr_matrix(np.eye(3, 4, dtype=np.float32)))
    monkeypatch.setenv("HYPERGAUSS_DATA", str(tmp_path))
    return tmp_path


def test_legislators_keep_the_order_of_the_file_and_bills_their_numbers(small_folder):
    data = fetch_peru_congress()
    assert list(data.hypergraph.vertices) == list(data.target.index) == ["Zárate", "Abad", "Mora"]
    assert data.hypergraph.members("00851") == ["Abad", "Mora"]
    assert data.hypergraph.members("00853") == ["Zárate", "Abad"]
    assert data.target["Mora"] == "government"
    assert data.table.loc["Abad", "group_share"] == 0.5


def test_without_bills_of_one_group_a_legislator_may_be_isolated(small_folder):
    H = fetch_peru_congress(multiparty=True).hypergraph
    assert list(H.edges) == ["00853"]
    assert list(H.isolated_vertices) == ["Mora"]


def test_papers_come_with_their_words(small_folder):
    data = fetch_cora_coauthorship()
    assert data.hypergraph.members(0) == [0, 2]
    assert data.target.tolist() == [3, 2, 3]
    assert isinstance(data.features, sp.csr_array)
    assert data.features.toarray().tolist() == np.eye(3, 4).tolist()


@pytest.mark.parametrize("fetch", [fetch_peru_congress, fetch_cora_coauthorship])
def test_without_the_variable_the_error_says_where_the_data_are(fetch, monkeypatch):
    monkeypatch.delenv("HYPERGAUSS_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"It is not set.*GitHub repository.*export HYPERGAUSS_DATA="):
        fetch()


def test_a_missing_file_is_named(small_folder):
    (small_folder / "cora-coauthorship" / "features.npz").unlink()
    with pytest.raises(FileNotFoundError, match=r"There is no file .*cora-coauthorship/features\.npz"):
        fetch_cora_coauthorship()


def test_a_year_without_groups_is_refused():
    with pytest.raises(ValueError, match=r"`year` must be .* 2007\. Got 2008"):
        fetch_peru_congress(2008)


def test_the_congress_agrees_with_its_published_statistics(data_folder):
    data = fetch_peru_congress()
    assert repr(data.hypergraph) == "Hypergraph(120 vertices, 874 hyperedges, 6,685 incidences)"
    assert data.target.value_counts().to_dict() == {"minority": 43, "opposition": 42, "government": 35}
    assert len(data.hypergraph.isolated_vertices) == 0
    across = fetch_peru_congress(multiparty=True).hypergraph
    assert (across.num_vertices, across.num_edges) == (120, 88)
    assert across.vertices.equals(data.hypergraph.vertices)


def test_cora_agrees_with_its_published_statistics(data_folder):
    data = fetch_cora_coauthorship()
    assert repr(data.hypergraph) == "Hypergraph(2,708 vertices, 1,072 hyperedges, 4,585 incidences)"
    assert data.target.value_counts().to_dict() == {3: 818, 5: 426, 0: 418, 1: 351, 4: 298, 6: 217, 2: 180}
    assert len(data.hypergraph.isolated_vertices) == 320
    assert data.hypergraph.connected_components().max() + 1 == 482
    assert data.features.shape == (2708, 1433)
    assert data.features.nnz == 49216
