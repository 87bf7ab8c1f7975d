"""A file that proves to be whole: a digest, then what the content is, then the content.

The digest is against damage: a file that is cut off, empty, zeroed, of another format, or has one bit wrong is not opened. It is
no signature; that only its owner wrote the file is for the room to see to.
"""

from __future__ import annotations

import hashlib

MARK = b"catena cache 1\n"  # of the format
DIGEST = hashlib.sha256().digest_size
LENGTH = 8  # bytes for the length of the identity


class Damaged(Exception):
    """Why a file is not what it should be."""


def seal(identity: str, data: bytes) -> bytes:
    """The file for data that this identity describes in full: what it was made from, by what, and for which machine."""
    described = identity.encode()
    rest = len(described).to_bytes(LENGTH, "little") + described + data
    return MARK + hashlib.sha256(rest).digest() + rest


def unseal(identity: str, file: bytes) -> bytes:
    """The data of a file; Damaged if a bit of it is wrong, or if it describes something else."""
    if not file.startswith(MARK):
        raise Damaged("is empty, cut off or of another format")
    begin = len(MARK) + DIGEST
    if hashlib.sha256(memoryview(file)[begin:]).digest() != file[len(MARK) : begin]:
        raise Damaged("is damaged: its digest is another one")
    described = identity.encode()
    expected = len(described).to_bytes(LENGTH, "little") + described
    if not file.startswith(expected, begin):
        raise Damaged("holds something else")
    return file[begin + len(expected) :]
