"""Plain lists of members, with names in a second file."""

import pytest

from hypergauss import read_lists
from hypergauss.exceptions import FileError
from hypergauss.io.lists import looks_like_lists


@pytest.fixture
def files(tmp_path):
    (tmp_path / "bills.txt").write_text("1,2\n2, 3,5\n\n3\n")
    (tmp_path / "names.txt").write_text("ana\nluis\nrosa\njuan\neva\n")
    return tmp_path


def test_a_line_is_a_hyperedge_and_a_line_of_names_a_vertex(files):
    H = read_lists(files / "bills.txt", names=files / "names.txt")
    assert H.vertices.tolist() == ["ana", "luis", "rosa", "juan", "eva"]
    assert [H.members(e) for e in H.edges] == [["ana", "luis"], ["luis", "rosa", "eva"], [], ["rosa"]]
    assert H.isolated_vertices.tolist() == ["juan"]


def test_without_names_numbers_are_names_in_their_order(files):
    (files / "bills.txt").write_text("10,2\n2,3\n")
    assert read_lists(files / "bills.txt").vertices.tolist() == [2, 3, 10]


def test_members_may_be_names_themselves(files):
    (files / "bills.txt").write_text("ana;luis de la Cruz\nrosa\n")
    assert read_lists(files / "bills.txt").vertices.tolist() == ["ana", "luis de la Cruz", "rosa"]


@pytest.mark.parametrize(("text", "members"), [("0 1\n1 2\n", ["ana", "luis"]), ("1\t2\n2\t3\n", ["ana", "luis"])])
def test_counting_begins_at_0_where_there_is_one(files, text, members):
    (files / "bills.txt").write_text(text)
    assert read_lists(files / "bills.txt", names=files / "names.txt").members(1) == members


def test_names_may_say_their_numbers(files):
    (files / "names.txt").write_text("5 Eva Luna\n1 Ana\n2 Luis\n3 Rosa\n")
    H = read_lists(files / "bills.txt", names=files / "names.txt")
    assert H.members(2) == ["Eva Luna", "Luis", "Rosa"]


def test_a_name_that_occurs_twice_gets_its_number(files):
    (files / "names.txt").write_text("smith\nluis\nsmith\njuan\neva\n")
    H = read_lists(files / "bills.txt", names=files / "names.txt")
    assert H.vertices.tolist() == ["smith (1)", "luis", "smith (3)", "juan", "eva"]


def test_what_is_missing_is_told(files):
    (files / "names.txt").write_text("ana\nluis\n")
    with pytest.raises(FileError, match=r"must name every vertex.*Number 3 and 1 other has no line: there are 2"):
        read_lists(files / "bills.txt", names=files / "names.txt")
    (files / "bills.txt").write_text("ana,luis\n")
    with pytest.raises(FileError, match=r"must hold numbers.*Got 'ana'"):
        read_lists(files / "bills.txt", names=files / "names.txt")
    (files / "bills.txt").write_text("\n")
    with pytest.raises(FileError, match="is empty"):
        read_lists(files / "bills.txt")


@pytest.mark.parametrize(
    ("text", "expected"), [("1,2\n1,2,3\n", True), ("a,b\nc,d\n", False), ('a,"b, c"\nd,e\n', False)]
)
def test_lists_have_lines_of_different_lengths(files, text, expected):
    (files / "bills.txt").write_text(text)
    assert looks_like_lists(files / "bills.txt", separator=None, encoding="utf-8") is expected
