"""What a checkpoint holds, as it is stored: enough to go on, and apart from it what only a slide asks for."""

from __future__ import annotations

from functools import lru_cache
from zlib import crc32

import msgspec

from sash.core.calibration import Calibration
from sash.core.state import FoldState
from sash.window import Seal, Setup

VERSION = 7
"""Of what is stored. Another version's is put aside, and the log is folded again."""

_APART = msgspec.Raw(msgspec.msgpack.encode(None))
"""Stands for the digest, which is stored apart."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """All of a thread that must survive a restart and that its log says only in many words."""

    setup: Setup
    counter: str
    fold: FoldState
    calibration: Calibration = Calibration()


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint, and the request that it finds finished."""

    checkpoint: Checkpoint
    """Without its digest."""
    digest_seq: int
    """The event after which the digest was written."""
    seal: Seal | None = None


class _Stored(msgspec.Struct, frozen=True, array_like=True):
    version: int
    setup: bytes
    counter: str
    fold: FoldState
    calibration: Calibration
    seal: Seal | None
    digest_seq: int


_stored = msgspec.msgpack.Decoder(_Stored)
_packed_setup = msgspec.msgpack.Decoder(Setup)


@lru_cache(maxsize=64)
def _setup(packed: bytes) -> Setup:
    """Most threads of a program have one setup."""
    return _packed_setup.decode(packed)


def written(checkpoint: Checkpoint, seal: Seal | None, *, digest_seq: int) -> bytes:
    """What is stored of a checkpoint: all but its digest, which was written after that event."""
    fold = msgspec.structs.replace(checkpoint.fold, digest=_APART)
    setup = msgspec.msgpack.encode(checkpoint.setup)
    stored = _Stored(VERSION, setup, checkpoint.counter, fold, checkpoint.calibration, seal, digest_seq)
    return _checked(msgspec.msgpack.encode(stored))


def written_digest(digest: msgspec.Raw) -> bytes:
    """What is stored of a digest."""
    return _checked(bytes(digest))


def read(body: bytes | None) -> Saved | None:
    """What this version has stored, and nothing has changed since; any other is no help."""
    whole = _unchanged(body)
    if whole is None:
        return None
    try:
        stored = _stored.decode(whole)
        setup = _setup(stored.setup)
    except msgspec.DecodeError:
        return None
    if stored.version != VERSION:
        return None
    checkpoint = Checkpoint(setup=setup, counter=stored.counter, fold=stored.fold, calibration=stored.calibration)
    return Saved(checkpoint=checkpoint, digest_seq=stored.digest_seq, seal=stored.seal)


def read_digest(rest: bytes | None) -> msgspec.Raw | None:
    """The digest that was stored beside a checkpoint; None where it is not what was written."""
    whole = _unchanged(rest)
    return None if whole is None else msgspec.Raw(whole)


def _checked(body: bytes) -> bytes:
    return b"%08x" % crc32(body) + body


def _unchanged(stored: bytes | None) -> bytes | None:
    """Without its checksum; None where that says that it is not what was written."""
    if stored is None:
        return None
    body = stored[8:]
    return body if b"%08x" % crc32(body) == stored[:8] else None
