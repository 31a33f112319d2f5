"""Files opened with clear words for what is wrong with them, and written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO

from hypergauss import _checks
from hypergauss.exceptions import FileError

#: The endings of files that are unpacked as they are read.
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
#: Complete files that wait for others before they take their places, each with its place; None where nobody waits.
_WAITING: ContextVar[list[tuple[Path, Path]] | None] = ContextVar("waiting", default=None)


def existing_file(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file that is there, or say what is there instead."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"`path` must name a file. Got {type(path).__name__}.")
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
        raise unknown_encoding(encoding) from error


def wrong_encoding(path: Path, encoding: str, error: UnicodeDecodeError) -> FileError:
    """Return the error for bytes that are no text in the given encoding, with the line where they stand if it is told.

    A reader that goes by cells or blocks knows the byte, not its place in the file, so the place is looked up.
    """
    byte = error.object[error.start] if error.start < len(error.object) else 0
    is_plain = encoding.lower() in ("utf-8", "utf8") and path.suffix.lower() not in COMPRESSED
    line = _first_line_with(path, byte) if is_plain else None
    where = "" if line is None else f" in line {line:,}"
    return FileError(
        f"{path} must be text in {encoding.upper()}. Byte {byte:#04x}{where} is not. Save it again as UTF-8, or name "
        "its encoding with `encoding` (--encoding), as a rule 'latin-1', 'cp1252' or 'utf-16'."
    )


def _first_line_with(path: Path, byte: int) -> int | None:
    """Return the number of the first line that is no UTF-8 because of this byte."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                return number if line[error.start] == byte else None
    return None


def unknown_encoding(encoding: str) -> FileError:
    """Return the error for an encoding that Python does not know."""
    return FileError(
        f"`encoding` (--encoding) must name a text encoding. Got {encoding!r}. Try 'utf-8', 'latin-1' or 'cp1252'."
    )


@contextmanager
def written_whole(path: str | os.PathLike[str], *, overwrite: bool = True) -> Iterator[IO[bytes]]:
    """Yield a file to write to that takes the place of ``path`` only once it is complete.

    Whatever ends the writing early, an error or an interrupt, leaves the place as it was. A file that is there keeps
    its permissions, a symbolic link goes on pointing to the file that is replaced, and a pipe or device is written to.
    Inside of `written_together` it takes its place with the others.
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"A file name is needed. {target} is a folder.")
    place = Path(os.path.realpath(target))
    if not place.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {place.parent} to write {target.name} to. Make it first.")
    if place.exists() and not overwrite:
        raise FileExistsError(f"{target} exists already. Choose another name, or ask for it to be overwritten.")
    with _named(target):
        if place.exists() and not place.is_file():
            with place.open("wb") as file:
                yield file
            return
        partial = _beside(place)
        try:
            with _created(partial, like=place) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            waiting = _WAITING.get()
            if waiting is None:
                partial.replace(place)
            else:
                waiting.append((partial, place))
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


@contextmanager
def written_together() -> Iterator[None]:
    """Let the files that are `written_whole` meanwhile take their places together, all or none, when all are complete.

    A full disk is met while they are written, before any has changed; should one not get its place, the others lose
    theirs, and what was there comes back.
    """
    waiting: list[tuple[Path, Path]] = []
    token = _WAITING.set(waiting)
    try:
        yield
        _take_places(waiting)
    finally:
        _WAITING.reset(token)
        for partial, _ in waiting:
            partial.unlink(missing_ok=True)


def _take_places(waiting: Sequence[tuple[Path, Path]]) -> None:
    """Move new files to their places, and everything back if one of them fails."""
    moved: list[tuple[Path, Path | None]] = []
    try:
        for partial, place in waiting:
            with _named(place):
                former = _beside(place) if place.exists() else None
                moved.append((place, former))  # first, as an interrupt may come between any two of these
                if former is not None:
                    place.rename(former)
                partial.rename(place)
    except BaseException:
        for place, former in reversed(moved):
            if former is None:
                place.unlink(missing_ok=True)
            elif former.exists():
                former.replace(place)
        raise
    for _, former in moved:
        if former is not None:
            former.unlink()


def _beside(place: Path) -> Path:
    """Return a name that nobody has, in the same folder and so on the same disk."""
    return place.with_name(f".{secrets.token_hex(8)}.part")


@contextmanager
def _named(target: Path) -> Iterator[None]:
    """Say of which file the system says that it cannot be written; a reader that has gone is another matter."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.errno == errno.EPIPE:
            raise
        named = type(error)(
            f"{target} could not be written: {error.strerror}. What was there before stays. Make room, or choose "
            "another place."
        )
        named.errno = error.errno
        raise named from error


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
