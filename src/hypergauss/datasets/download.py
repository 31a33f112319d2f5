"""Files fetched from their public home: checked by SHA-256, kept in a cache, never left half written."""

from __future__ import annotations

import atexit
import hashlib
import os
import tempfile
import urllib.error
import urllib.request
from functools import cache
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import wrap_file

from hypergauss.datasets.cache_folder import cache_folder

_TIMEOUT = 30.0
_CHUNK = 1 << 16


class Download(NamedTuple):
    """A file with one right content.

    Attributes
    ----------
    url : str
        Its public home.
    sha256 : str
        Of the content, in hexadecimal.
    """

    url: str
    sha256: str

    @property
    def name(self) -> str:
        """The file's own name."""
        return self.url.rsplit("/", 1)[-1]

    def path(self) -> Path:
        """Return the file in the cache, downloaded if it is not there or not what it should be.

        The download goes to a file of its own beside the final one and is renamed when its checksum is right. So an
        interrupt, a lost connection or a wrong content leaves nothing behind, and a good file is never replaced. Where
        nothing can be kept, the file serves as long as the process lives.
        """
        folder = cache_folder()
        if _holds(folder / self.name, self.sha256):
            return folder / self.name
        try:
            partial = self._partial(folder)
        except OSError:
            folder = _folder_of_this_process()
            if _holds(folder / self.name, self.sha256):
                return folder / self.name
            partial = self._partial(folder)
        path = folder / self.name
        try:
            self._fetch(partial)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
        return path

    def _partial(self, folder: Path) -> Path:
        """Return a new, empty file in a folder, which is made if need be."""
        folder.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(prefix=f"{self.name}.", suffix=".part", dir=folder)
        os.close(handle)
        return Path(partial)

    def _fetch(self, partial: Path) -> None:
        try:
            with urllib.request.urlopen(self.url, timeout=_TIMEOUT) as response, partial.open("wb") as file:
                total = int(response.headers.get("Content-Length") or 0)
                with wrap_file(
                    response, total, description=self.name, console=Console(stderr=True), transient=True
                ) as source:
                    while chunk := source.read(_CHUNK):
                        file.write(chunk)
        except (urllib.error.URLError, HTTPException, OSError) as error:
            raise ConnectionError(
                f"{self.url} could not be downloaded: {error}. Try again, or put the file by hand at "
                f"{cache_folder() / self.name}."
            ) from error
        size = partial.stat().st_size
        if total and size < total:
            raise ConnectionError(
                f"The download of {self.url} broke off after {size:,} of {total:,} bytes. Nothing was kept: try again."
            )
        found = _sha256(partial)
        if found != self.sha256:
            raise ValueError(
                f"{self.url} must have the SHA-256 {self.sha256}. Got {size:,} bytes with {found}. Nothing was kept: "
                "try again, and if it happens twice, something between here and there changes the file."
            )


@cache
def _folder_of_this_process() -> Path:
    """Return a folder that goes when the process ends."""
    folder = tempfile.TemporaryDirectory(prefix="hypergauss-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


def _holds(path: Path, sha256: str) -> bool:
    try:
        return path.is_file() and _sha256(path) == sha256
    except OSError:
        return False


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
