"""MovieLens from a folder, and from an archive that a server on this machine hands out, whole, changed or cut short."""

import hashlib
import http.server
import threading
import zipfile
from io import BytesIO

import pytest

from hypergauss.datasets import fetch_movielens_100k, movielens
from hypergauss.datasets.cache_folder import cache_folder
from hypergauss.datasets.download import Download

FILES = {
    "u.data": "2\t1\t3\t881250949\n1\t2\t5\t891717742\n",
    "u1.base": "1\t2\t5\t891717742\n",
    "u1.test": "2\t1\t3\t881250949\n",
    "u.user": "1|24|M|technician|85711\n2|53|F|other|94043\n",
    "u.genre": "unknown|0\nAction|1\n\n",
    "u.item": "1|Caf\xe9 (1995)|01-Jan-1995||http://a|0|1\n2|unknown||||1|0\n",
}


def archive():
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name, text in FILES.items():
            file.writestr(f"ml-100k/{name}", text.encode("latin-1"))
    return stream.getvalue()


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A server of one archive; `served["body"]` and `served["length"]` change what it sends."""
    content = archive()
    state = {"body": content, "length": len(content), "requests": 0}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            state["requests"] += 1
            self.send_response(200)
            self.send_header("Content-Length", str(state["length"]))
            self.end_headers()
            self.wfile.write(state["body"])

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/ml-100k.zip"
    monkeypatch.setattr(movielens, "_ARCHIVE", Download(url, hashlib.sha256(content).hexdigest()))
    monkeypatch.setenv("HYPERGAUSS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HYPERGAUSS_DATA", raising=False)
    yield state
    server.shutdown()
    server.server_close()


def assert_is_the_small_set(data):
    assert data.ratings["rating"].tolist() == [3, 5]
    assert data.ratings["film"].tolist() == [1, 2]
    assert data.users.loc[2, "occupation"] == "other"
    assert data.films.loc[1, "title"] == "Café (1995)"
    assert data.genres.members("Action") == [1]
    assert [len(part) for part in data.official] == [1, 1]


def test_the_archive_is_downloaded_once_and_then_read_from_the_cache(served):
    assert_is_the_small_set(fetch_movielens_100k())
    assert_is_the_small_set(fetch_movielens_100k())
    assert served["requests"] == 1
    assert [path.name for path in cache_folder().iterdir()] == ["ml-100k.zip"]


def test_a_changed_archive_is_refused_and_nothing_is_kept(served):
    served["body"] = served["body"][:-1] + b"!"
    with pytest.raises(ValueError, match=r"must have the SHA-256 .* Nothing was kept"):
        fetch_movielens_100k()
    assert list(cache_folder().iterdir()) == []


def test_a_connection_that_breaks_off_is_told_and_the_next_try_succeeds(served):
    whole = served["body"]
    served["body"] = whole[:100]
    with pytest.raises(ConnectionError, match=r"100 of .* bytes|could not be downloaded"):
        fetch_movielens_100k()
    assert list(cache_folder().iterdir()) == []
    served["body"] = whole
    assert_is_the_small_set(fetch_movielens_100k())


def test_a_spoilt_cache_is_downloaded_anew(served):
    fetch_movielens_100k()
    (cache_folder() / "ml-100k.zip").write_bytes(b"not a zip")
    assert_is_the_small_set(fetch_movielens_100k())
    assert served["requests"] == 2


def test_a_server_that_is_not_there_is_named(served, monkeypatch):
    monkeypatch.setattr(movielens, "_ARCHIVE", Download("http://127.0.0.1:9/ml-100k.zip", "0" * 64))
    with pytest.raises(ConnectionError, match=r"127\.0\.0\.1:9/ml-100k\.zip could not be downloaded.*by hand"):
        fetch_movielens_100k()


def test_an_interrupt_leaves_nothing_behind(served, monkeypatch):
    def interrupted(self, partial):
        partial.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(Download, "_fetch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch_movielens_100k()
    assert list(cache_folder().iterdir()) == []


def test_the_data_folder_comes_first_and_its_gaps_are_named(tmp_path, monkeypatch):
    folder = tmp_path / "movielens-100k"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_bytes(text.encode("latin-1"))
    monkeypatch.setenv("HYPERGAUSS_DATA", str(tmp_path))
    assert_is_the_small_set(fetch_movielens_100k())
    (folder / "u.genre").unlink()
    with pytest.raises(FileNotFoundError, match=r"There is no u\.genre"):
        fetch_movielens_100k()


def test_the_official_files_agree_with_their_published_statistics(data_folder):
    data = fetch_movielens_100k()
    assert data.ratings.shape == (100_000, 4)
    assert data.ratings["rating"].value_counts().sort_index().tolist() == [6110, 11370, 27145, 34174, 21201]
    assert (data.ratings["user"].nunique(), data.ratings["film"].nunique()) == (943, 1682)
    assert repr(data.genres) == "Hypergraph(1,682 vertices, 19 hyperedges, 2,893 incidences)"
    train, test = data.official
    assert (len(train), len(test)) == (80_000, 20_000)


def test_a_cache_that_cannot_be_written_is_done_without(served, tmp_path, monkeypatch, capfd):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("HYPERGAUSS_CACHE", str(tmp_path / "file" / "cache"))
    assert len(fetch_movielens_100k().ratings) == 2
    assert len(fetch_movielens_100k().ratings) == 2
    assert served["requests"] == 1
    assert capfd.readouterr().err.strip() == ""
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
