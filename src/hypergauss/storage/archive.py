"""Archive: one zip file of plain arrays and one JSON text, safe to open from a stranger.

Nothing in it is code and nothing is ever unpacked to disk. Members are stored uncompressed, so that no small file grows
when it is read; arrays are numbers in NumPy's own format, read without pickle.
"""

from __future__ import annotations

import io
import json
import math
import os
import struct
import zipfile
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hypergauss.exceptions import FileError
from hypergauss.io.files import existing_file, written_whole

_TEXT = "content.json"
#: Any moment does: equal content gives equal files.
_EPOCH = (1980, 1, 1, 0, 0, 0)
#: What reading bytes that are no archive, or a damaged one, can raise.
DAMAGE = (
    AttributeError,
    EOFError,
    IndexError,
    KeyError,
    NotImplementedError,
    OSError,
    OverflowError,
    RecursionError,
    RuntimeError,
    TypeError,
    UnicodeDecodeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
)


def write_archive(path: str | os.PathLike[str], content: Any, arrays: Sequence[np.ndarray]) -> None:
    """Write JSON content and numbered arrays; the file appears whole or not at all."""
    with written_whole(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_TEXT, _EPOCH), json.dumps(content, allow_nan=False))
        for number, array in enumerate(arrays):
            buffer = io.BytesIO()
            # Column by column stays column by column: another layout would change the last digits of products.
            np.lib.format.write_array(buffer, np.array(array, order="K", copy=True), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(_member(number), _EPOCH), buffer.getvalue())


class Archive(NamedTuple):
    """What a file holds: JSON content, numbered arrays, and the size of the file in bytes."""

    content: Any
    arrays: list[np.ndarray]
    size: int


def read_archive(path: str | os.PathLike[str]) -> Archive:
    """Return what an archive holds, or say that the file is damaged or none."""
    file = existing_file(path)
    try:
        with zipfile.ZipFile(file) as archive:
            members, size = archive.infolist(), file.stat().st_size
            if sum(member.file_size for member in members) > size:
                raise ValueError("its members claim more bytes than it has")
            for member in members:
                if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
                    raise ValueError("a member is compressed or encrypted")
            names = [member.filename for member in members]
            if names != [_TEXT, *(_member(number) for number in range(len(names) - 1))]:
                odd = next((name for name in names if name != _TEXT and not name.startswith("arrays/")), names[:1])
                raise ValueError(f"it holds {odd!r}, which does not belong in it")
            content = json.loads(archive.read(_TEXT))
            return Archive(content, [_array(archive.read(name)) for name in names[1:]], size)
    except DAMAGE as error:
        raise FileError(f"{file} is no model of hypergauss, or is damaged: {error}. Save it again.") from error


def _member(number: int) -> str:
    return f"arrays/{number}.npy"


def _array(data: bytes) -> np.ndarray:
    """Return the numbers in a .npy file, which must be as many as its header says and no objects."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
    shape, by_columns, dtype = read_header(stream)
    body = data[stream.tell() :]
    if dtype.kind not in "biuf" or min(shape, default=0) < 0 or len(body) != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"an array of {dtype} with shape {shape} has {len(body)} bytes")
    # A copy, since its own memory is aligned as a computed array's is.
    return np.frombuffer(body, dtype).reshape(shape, order="F" if by_columns else "C").copy(order="K")
