"""A self-verifying file: a digest, then the identity of the content, then the content.

The digest protects against damage: a file that is truncated, empty, zeroed, of another format, or has one bit wrong is
rejected. It is not a signature; `room` ensures that only its owner wrote the file.
"""

from __future__ import annotations

import hashlib

MARK = b"catena cache 1\n"  # identifies the format
DIGEST = hashlib.sha256().digest_size
LENGTH = 8  # bytes for the length of the identity


class Damaged(Exception):
    """Why a file is not valid."""


def seal(identity: str, data: bytes) -> bytes:
    """The file for data with this identity: what they were made from, by what, and for which machine."""
    described = identity.encode()
    rest = len(described).to_bytes(LENGTH, "little") + described + data
    return MARK + hashlib.sha256(rest).digest() + rest


def unseal(identity: str, file: bytes) -> bytes:
    """The data of a file; Damaged if a bit is wrong, or if its identity differs."""
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
