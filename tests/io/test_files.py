"""Files are written whole or not at all, and what they replace keeps its permissions and its place."""

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from hypergauss.io.files import written_together, written_whole


def write(path, content=b"new", **options):
    with written_whole(path, **options) as file:
        file.write(content)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask():
    before = os.umask(0o027)
    yield 0o027
    os.umask(before)


def test_a_new_file_has_the_permissions_that_the_umask_leaves(tmp_path, umask):
    write(tmp_path / "a")
    assert mode(tmp_path / "a") == 0o666 & ~umask


@pytest.mark.parametrize("kept", [0o600, 0o664, 0o640, 0o444])
def test_a_file_that_is_replaced_keeps_its_permissions_from_the_first_byte(tmp_path, umask, kept):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(kept)
    with written_whole(path) as file:
        file.write(b"secret")
        assert mode(next(tmp_path.glob("*.part"))) == kept
    assert mode(path) == kept
    assert path.read_bytes() == b"secret"


def test_the_umask_of_the_process_is_never_touched(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("other threads make files, too"))
    write(tmp_path / "a")
    write(tmp_path / "a")


def test_a_symbolic_link_goes_on_pointing_to_what_is_replaced(tmp_path):
    (tmp_path / "deep").mkdir()
    there, link, further = tmp_path / "deep" / "there", tmp_path / "link", tmp_path / "further"
    there.write_bytes(b"old")
    link.symlink_to("deep/there")
    further.symlink_to(link)
    write(further)
    assert further.is_symlink()
    assert link.is_symlink()
    assert there.read_bytes() == b"new"
    there.unlink()
    write(link, b"again")  # a link to what is not there yet
    assert there.read_bytes() == b"again"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["deep", "further", "link", "there"]


def test_a_link_into_a_folder_that_is_not_there_is_told(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "none" / "a")
    with pytest.raises(FileNotFoundError, match=r"There is no folder .*none to write link to"):
        write(tmp_path / "link")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_ends_the_writing_early_leaves_everything_as_it_was(tmp_path, error):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def broken_off():
        with written_whole(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        broken_off()
    assert path.read_bytes() == b"old"
    assert [item.name for item in tmp_path.iterdir()] == ["a"]


def test_a_name_as_long_as_names_may_be_is_written(tmp_path):
    write(tmp_path / ("a" * 255))


def test_a_pipe_is_written_to_and_stays(tmp_path):
    path, read = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    write(path)
    reader.join()
    assert read == [b"new"]
    assert path.is_fifo()


def test_a_file_is_not_replaced_unless_asked_for(tmp_path):
    write(tmp_path / "a")
    with pytest.raises(FileExistsError, match="exists already"):
        write(tmp_path / "a", overwrite=False)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write(tmp_path)


def fail_at(monkeypatch, function, number):
    """Let the n-th call of a function of `os` or `Path` find the disk full."""
    owner, name = (os, "fsync") if function == "fsync" else (Path, function)
    true, calls = getattr(owner, name), []

    def failing(*arguments):
        calls.append(arguments)
        if len(calls) == number:
            raise OSError(errno.ENOSPC, "No space left on device")
        return true(*arguments)

    monkeypatch.setattr(owner, name, failing)


def test_a_full_disk_is_a_sentence_that_names_the_file(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    fail_at(monkeypatch, "fsync", 1)
    with pytest.raises(OSError, match=r"a could not be written: No space left on device\. .*Make room") as caught:
        write(path)
    assert caught.value.errno == errno.ENOSPC
    assert path.read_bytes() == b"old"
    assert [item.name for item in tmp_path.iterdir()] == ["a"]


def test_a_full_device_is_named():
    if not Path("/dev/full").exists():
        pytest.skip("there is no device that is always full")
    with pytest.raises(OSError, match="/dev/full could not be written: No space left"):
        write("/dev/full")


def test_a_folder_that_takes_no_files_is_a_sentence_that_names_the_file():
    if not Path("/proc/self").exists():
        pytest.skip("there is no folder in which nobody can write")
    with pytest.raises(OSError, match="/proc/self/a could not be written: "):
        write("/proc/self/a")


@pytest.mark.parametrize("failure", ["fsync 2", "fsync 3", "rename 1", "rename 2", "rename 3", "rename 5"])
def test_files_that_are_written_together_appear_all_or_none(tmp_path, monkeypatch, failure):
    function, number = failure.split()
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "c").write_bytes(b"old too")

    def write_all():
        with written_together():
            for name in "abc":
                write(tmp_path / name)
                assert not (tmp_path / "b").exists()

    with monkeypatch.context() as patch:
        fail_at(patch, function, int(number))
        with pytest.raises(OSError, match="could not be written"):
            write_all()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"old", "c": b"old too"}
    write_all()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == dict.fromkeys("abc", b"new")


def test_files_written_together_keep_permissions_and_links(tmp_path):
    (tmp_path / "there").write_bytes(b"old")
    (tmp_path / "there").chmod(0o600)
    (tmp_path / "link").symlink_to("there")
    with written_together():
        write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert mode(tmp_path / "there") == 0o600
    assert (tmp_path / "there").read_bytes() == b"new"
