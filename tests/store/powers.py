"""What root may do that nobody else may, given up for a moment."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

_VERSION = 0x2008_0522
_PASS_OVER_PERMISSIONS = 1 << 1 | 1 << 2
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH."""


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Half(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


@contextmanager
def held_to_permissions() -> Iterator[None]:
    """
    This thread as somebody for whom the permissions of files hold: for root they do not.

    It stays the user it is, so whatever lies below a folder that only root may enter is still found.
    """
    if os.geteuid() != 0:
        yield
        return
    powers = (_Half * 2)()
    _call("capget", powers)
    before = powers[0].effective
    powers[0].effective = before & ~_PASS_OVER_PERMISSIONS
    _call("capset", powers)
    try:
        yield
    finally:
        powers[0].effective = before
        _call("capset", powers)


def _call(name: str, powers: ctypes.Array[_Half]) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library[name](ctypes.byref(_Header(version=_VERSION, pid=0)), powers):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
