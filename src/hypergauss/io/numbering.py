"""Number the different texts of an Arrow column, a few times faster than a hash table that takes text by text.

Each text becomes words of eight bytes, its length in the last byte, so that different texts have different words. All
texts are then thrown into a table by a hash of their words, where the first row to claim a place keeps it. Rows that
find another text in their place go on to the next round, with another hash. Rows are taken block by block, which keeps
what is worked on in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from hypergauss.hypergraph.assembly import Numbered

if TYPE_CHECKING:
    import pyarrow as pa

#: Texts of more bytes than this are left to Arrow; one byte must hold the length.
_LONGEST = 63
#: Rows worked on at once.
_BLOCK = 1 << 15
#: Odd multipliers of the hash, one a round. Rows that no round settles are left to Arrow: names made to collide.
_MULTIPLIERS = np.random.default_rng(0).integers(2**64, size=16, dtype=np.uint64) | np.uint64(1)
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], dtype=np.uint64)


def number_text(column: pa.ChunkedArray) -> Numbered:
    """Number a chunked Arrow array of text without gaps."""
    # Text beyond 2 GiB does not fit in one array of the narrower type.
    array = column.cast("large_string").combine_chunks()
    words = _words(array) if len(array) else None
    first = None if words is None else _first_rows(words)
    if first is None:
        encoded = array.dictionary_encode()
        return Numbered(np.asarray(encoded.indices), _texts(encoded.dictionary))
    is_first = np.empty(len(first), dtype=bool)
    for block in _blocks(len(first)):
        np.equal(first[block], np.arange(block.start, block.stop), out=is_first[block])
    number = np.cumsum(is_first, dtype=np.int32)
    number -= 1
    codes = np.empty(len(first), dtype=np.int32)
    for block in _blocks(len(first)):
        codes[block] = _taken(number, first[block])
    return Numbered(codes, _texts(array.take(np.flatnonzero(is_first))))


def _blocks(size: int) -> Iterator[slice]:
    for start in range(0, size, _BLOCK):
        yield slice(start, min(start + _BLOCK, size))


def _texts(array: pa.Array) -> np.ndarray:
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=object)


def _words(array: pa.Array) -> np.ndarray | None:
    """Return each text as words of eight bytes, one row of words after another, or None if some are too long."""
    _, bounds, data = array.buffers()
    offsets = np.frombuffer(bounds, np.int64)[array.offset : array.offset + len(array) + 1]
    longest = max(int(np.diff(offsets[block.start : block.stop + 1]).max()) for block in _blocks(len(array)))
    if longest > _LONGEST or data is None:
        return None
    count = longest // 8 + 1
    text = np.zeros(int(offsets[-1]) + 8 * count, np.uint8)  # so that the last text may be read beyond its end
    text[: int(offsets[-1])] = np.frombuffer(data, np.uint8)[: int(offsets[-1])]
    anywhere = np.ndarray(len(text) - 7, dtype="<u8", buffer=text, strides=(1,))
    words = np.empty((count, len(array)), np.uint64)
    for block in _blocks(len(array)):
        start = offsets[block]
        length = offsets[block.start + 1 : block.stop + 1] - start
        for number, word in enumerate(words):
            left = length if count == 1 else np.clip(length - 8 * number, 0, 8)
            np.bitwise_and(anywhere[start + 8 * number], _taken(_MASKS, left), out=word[block])
        words[-1, block] |= length.astype(np.uint64) << np.uint64(56)
    return words


def _first_rows(words: np.ndarray) -> np.ndarray | None:
    """Return for each row the first row with the same words; None if hashes keep meeting."""
    first, rows = _claims(words, _MULTIPLIERS[0])
    for multiplier in _MULTIPLIERS[1:]:
        if len(rows) == 0:
            return first
        claimed, left = _claims(words[:, rows], multiplier)
        first[rows] = rows[claimed]
        rows = rows[left]
    return None


def _claims(words: np.ndarray, multiplier: np.uint64) -> tuple[np.ndarray, np.ndarray]:
    """Return for each row which row, the first to come there, has its place, and the rows that differ from it."""
    size = words.shape[1]
    bits = max(4, size.bit_length() - 1)
    kind = np.int32 if size < 2**31 else np.int64  # the smaller a table, the more of it is in the cache
    place = np.empty(size, np.int32 if bits < 31 else np.int64)
    for block in _blocks(size):
        mixed = words[0, block] * multiplier
        for word in words[1:]:
            mixed = (mixed ^ (mixed >> np.uint64(29)) ^ word[block]) * multiplier
        place[block] = mixed >> np.uint64(64 - bits)
    table = np.zeros(1 << bits, kind)
    # Of several assignments to one place the last stays: backwards, that is the first appearance.
    for block in reversed(list(_blocks(size))):
        table[place[block][::-1]] = np.arange(block.stop - 1, block.start - 1, -1, dtype=kind)
    claimed = np.empty(size, kind)
    differ = []
    for block in _blocks(size):
        here = _taken(table, place[block])
        claimed[block] = here
        same = np.logical_and.reduce([_taken(word, here) == word[block] for word in words])
        differ.append(block.start + np.flatnonzero(~same))
    return claimed, np.concatenate(differ)


def _taken(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return values[rows], without a look at whether rows are in range."""
    return values.take(rows, mode="clip")
