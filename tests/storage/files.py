"""Model files, changed by hand."""

import io
import json
import zipfile

import numpy as np


def rewritten(file, target, change=lambda members: members, method=zipfile.ZIP_STORED):
    """Write the archive again with its members, by name, changed."""
    with zipfile.ZipFile(file) as archive:
        members = change({name: archive.read(name) for name in archive.namelist()})
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return target


def with_content(change):
    """Return a change of the JSON in an archive."""

    def apply(members):
        content = json.loads(members["content.json"])
        change(content)
        return members | {"content.json": json.dumps(content)}

    return apply


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()
