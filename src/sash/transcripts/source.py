"""The bytes of a transcript: a file as it was when it was opened, or a stream; packed or not."""

from __future__ import annotations

import gzip
import io
import os
import stat
import weakref
import zlib
from collections.abc import Iterator
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any, cast

from sash.errors import MissingExtra, UnreadableTranscript

HEAD = 1 << 16
"""As much as is looked at to tell formats apart."""
CHUNK = 1 << 20
IN_MEMORY = 8 << 20
"""A stream longer than this is kept in a temporary file, since most formats have to be read twice."""
UNPACKED = 16 << 30
"""A packed file that gives more bytes than this is not read to its end."""

FOLDER = "it is a folder; name a file in it"

_ZSTD = b"\x28\xb5\x2f\xfd"
_GZIP = b"\x1f\x8b"


class Source:
    """Bytes that can be read from the start as often as needed; what is appended meanwhile is not seen."""

    def __init__(self, given: str | os.PathLike[str] | IO[bytes]) -> None:
        self.path: Path | None = None
        self.broken = ""
        """Why it could not be read to its end, once that was tried."""
        self._kept: IO[bytes] | None = None
        if isinstance(given, str | os.PathLike):
            path = Path(given)
            self.name = str(path)
            self.size = _size(path)
            if self.size < 0:
                with _opened(path) as pipe:
                    self._keep(pipe)
            else:
                self.path = path
        else:
            self.name = str(getattr(given, "name", "") or "standard input")
            self._keep(given)
        with self._raw() as raw:
            start = raw.read(4)
        self.packed = start.startswith((_ZSTD, _GZIP))
        self._head: bytes | None = None

    def head(self) -> bytes:
        """The first bytes, unpacked."""
        if self._head is None:
            self._head = b""
            for chunk in self.chunks(HEAD):
                self._head += chunk
                if len(self._head) >= HEAD:
                    break
        return self._head

    def whole(self, most: int) -> bytes:
        """All bytes at once, for what cannot be read in parts."""
        parts: list[bytes] = []
        size = 0
        for chunk in self.chunks():
            size += len(chunk)
            if size > most:
                raise UnreadableTranscript(self.name, f"one JSON document of more than {most:,} bytes; split it")
            parts.append(chunk)
        return b"".join(parts)

    def chunks(self, length: int = CHUNK) -> Iterator[bytes]:
        """All bytes in parts of this length, as far as the file went at first; a packed file up to its limit."""
        self.broken = ""
        left = UNPACKED if self.packed else self.size
        with self._raw() as raw, _unpacked(raw) as stream:
            while left > 0:
                try:
                    # Unpacked in small steps: of a torn file, all that was whole is given out before the error.
                    chunk = _some(stream) if self.packed else _exactly(stream, min(length, left))
                except (OSError, EOFError, zlib.error, ValueError) as error:
                    self.broken = f"cannot be read from here on: {error}"
                    return
                if not chunk:
                    return
                left -= len(chunk)
                yield chunk
        if self.packed:
            self.broken = f"unpacks to more than {UNPACKED:,} bytes: the rest is not read"

    def _raw(self) -> IO[bytes]:
        if self._kept is None:
            assert self.path is not None
            return _opened(self.path)
        self._kept.seek(0)
        return cast("IO[bytes]", _Shared(self._kept))

    def _keep(self, stream: IO[bytes]) -> None:
        """Put a stream where it can be read again."""
        kept = cast("IO[bytes]", SpooledTemporaryFile(max_size=IN_MEMORY))  # noqa: SIM115  (lives as long as this does)
        self.size = 0
        while chunk := stream.read(CHUNK):
            self.size += kept.write(chunk)
        self._kept = kept
        weakref.finalize(self, kept.close)


class _Shared(io.RawIOBase):
    """A kept stream that outlives its readers."""

    def __init__(self, kept: IO[bytes]) -> None:
        super().__init__()
        self._kept = kept

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._kept.read(size)

    def seek(self, to: int, whence: int = 0) -> int:
        return self._kept.seek(to, whence)


class _Unzstd(io.RawIOBase):
    """A Zstandard stream, with errors that Python knows."""

    def __init__(self, raw: IO[bytes]) -> None:
        super().__init__()
        try:
            import zstandard
        except ModuleNotFoundError as error:
            if error.name != "zstandard":
                raise
            raise MissingExtra("a file packed with Zstandard", extra="zstd", package="zstandard") from None
        self._error = zstandard.ZstdError
        unpacking = zstandard.ZstdDecompressor(max_window_size=1 << 27)
        self._stream: Any = unpacking.stream_reader(raw, read_across_frames=True, closefd=False)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        try:
            part: bytes = self._stream.read(size)
        except self._error as error:
            raise ValueError(str(error)) from None
        return part


def _unpacked(raw: IO[bytes]) -> IO[bytes]:
    start = raw.read(4)
    raw.seek(0)
    if start.startswith(_ZSTD):
        return cast("IO[bytes]", _Unzstd(raw))
    return cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if start.startswith(_GZIP) else raw


def _size(path: Path) -> int:
    """Bytes in a file; -1 of a pipe or device, which has none."""
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        raise UnreadableTranscript(str(path), getattr(error, "strerror", None) or str(error)) from None
    if stat.S_ISDIR(found.st_mode):
        raise UnreadableTranscript(str(path), FOLDER)
    return found.st_size if stat.S_ISREG(found.st_mode) else -1


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise UnreadableTranscript(str(path), error.strerror or str(error)) from None


def _some(stream: IO[bytes]) -> bytes:
    part: bytes = getattr(stream, "read1", stream.read)(HEAD)
    return part


def _exactly(stream: IO[bytes], size: int) -> bytes:
    """So many bytes, however few come at a time; fewer only at the end."""
    part = stream.read(size)
    if not part or len(part) == size:
        return part
    parts = [part]
    size -= len(part)
    while size and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
