"""Files opened with clear words for what is wrong with them, and written whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from hypergauss import _checks
from hypergauss.exceptions import FileError


def existing_file(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file that is there, or say what is there instead."""
    found = Path(path)
    if found.is_dir():
        inside = sorted(item.name for item in found.iterdir() if item.is_file())[:3]
        hint = f" It holds {', '.join(inside)}{', ...' if len(inside) == 3 else ''}: name one." if inside else ""
        raise IsADirectoryError(f"A file is needed. {found} is a folder.{hint}")
    if not found.exists():
        raise FileNotFoundError(f"There is no file {found}.{_nearest_file(found)}")
    return found


def _nearest_file(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f" There is no folder {folder} either."
    return _checks.did_you_mean(path.name, [item.name for item in folder.iterdir()])


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Return the text of a file; one in another encoding is refused with the place where it shows."""
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except UnicodeDecodeError as error:
        raise wrong_encoding(path, encoding, error) from error
    except LookupError as error:
        raise FileError(f"`encoding` must name a text encoding. Got {encoding!r}. Try 'utf-8' or 'latin-1'.") from error


def wrong_encoding(path: Path, encoding: str, error: UnicodeDecodeError) -> FileError:
    """Return the error for bytes that are no text in the given encoding."""
    byte = error.object[error.start] if error.start < len(error.object) else 0
    return FileError(
        f"{path} must be text in {encoding.upper()}. Byte {byte:#04x} at position {error.start:,} is not. "
        "Save it again as UTF-8, or name its encoding, as a rule 'latin-1', 'cp1252' or 'utf-16'."
    )


@contextmanager
def written_whole(path: str | os.PathLike[str], *, overwrite: bool = True) -> Iterator[IO[bytes]]:
    """Yield a file to write to that takes the place of ``path`` only once it is complete.

    Whatever ends the writing early, an error or an interrupt, leaves the place as it was. A file that is there keeps
    its permissions, a symbolic link goes on pointing to the file that is replaced, and a pipe or device is written to.
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"A file name is needed. {target} is a folder.")
    place = Path(os.path.realpath(target))
    if not place.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {place.parent} to write {target.name} to. Make it first.")
    if place.exists() and not overwrite:
        raise FileExistsError(f"{target} exists already. Choose another name, or ask for it to be overwritten.")
    if place.exists() and not place.is_file():
        with place.open("wb") as file:
            yield file
        return
    partial = place.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with _created(partial, like=place) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(place)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _created(path: Path, *, like: Path) -> IO[bytes]:
    """Return a new file, open for writing, with the permissions of one that is there, or those of any new file."""
    mode = stat.S_IMODE(like.stat().st_mode) if like.exists() else None
    # What the umask forbids, the system leaves out by itself; nobody else can read a private file even for a moment.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags, 0o666 if mode is None else mode & 0o666)
    file = os.fdopen(handle, "wb")
    if mode is not None:
        path.chmod(mode)
    return file
