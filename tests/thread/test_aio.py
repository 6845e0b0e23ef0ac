"""Asynchronous callers have the same verbs, and many of them at once."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

import pytest

from sash import aio
from sash.thread import Thread
from tests.thread.speaking import SMALL


def test_the_verbs_are_awaited_and_many_threads_run_at_once(tmp_path: Path) -> None:
    async def talk(number: int) -> int:
        async with await aio.open(f"t{number}", store=f"sqlite:///{tmp_path}/sash.db", policy=SMALL) as thread:
            for _ in range(3):
                await thread.append({"role": "user", "content": f"hello {number}"})
                await thread.append({"role": "assistant", "content": "hi"})
            request = await thread.request()
            assert request["messages"][0]["content"] == f"hello {number}"
            assert (await thread.verify()).ok
            assert thread.name == f"t{number}"
            return await thread.seq()

    async def all_of_them() -> list[int]:
        return await asyncio.gather(*map(talk, range(4)))

    assert asyncio.run(all_of_them()) == [6] * 4


BENEATH = {"tail", "window", "setup", "id", "apply_change"}
"""For what is built on threads: reached through `thread.thread`."""


def test_every_verb_of_a_thread_is_there_and_nothing_else() -> None:
    async def look() -> None:
        thread = await aio.open("t", store="memory:")
        for name in {name for name in dir(Thread) if not name.startswith("_")} - BENEATH:
            assert inspect.iscoroutinefunction(getattr(thread, name)), name
        for missing in ("nonsense", "_tail"):
            with pytest.raises(AttributeError):
                getattr(thread, missing)
        assert "AsyncThread" in repr(thread)

    asyncio.run(look())


def test_hooks_are_the_threads_and_a_fork_is_awaited_too() -> None:
    async def go() -> None:
        told: list[str] = []
        thread = await aio.open("t", store="memory:")
        thread.on_frame = lambda frame: told.append(frame.reason)
        for number in range(4):
            await thread.append({"role": "user", "content": f"hello {number}"})
            await thread.append({"role": "assistant", "content": "hi"})
        other = await thread.fork("other")
        await thread.compact()
        assert told == ["compact"]
        assert thread.on_frame is thread.thread.on_frame
        await other.append({"role": "user", "content": "on my own"})
        assert (await other.request())["messages"][-1]["content"] == "on my own"
        await thread.close()

    asyncio.run(go())
