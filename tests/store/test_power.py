"""A power cut takes what no fsync has reached, and an fsync that fails is a write that failed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from sash.errors import StoreError
from sash.store import open_store
from tests.store.building import entry, said, texts_of, thread_of


class Disk(apsw.VFS):
    """A disk that knows what of each file would survive a power cut: what was there when it was last synced."""

    def __init__(self, name: str, base: str) -> None:
        self.base = base
        self.survives: dict[str, bytes] = {}
        self.failing = 0
        """So many of the next calls of fsync fail."""
        super().__init__(name, base=base, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> DiskFile:  # noqa: N802 - SQLite's word
        return DiskFile(self, name, flags)

    def xDelete(self, name: str, sync: bool) -> None:  # noqa: N802 - SQLite's word
        super().xDelete(name, sync)
        self.survives.pop(name, None)

    def cut(self, place: Path) -> None:
        """What is left in the folder, written to another place."""
        for name, content in self.survives.items():
            if not name.endswith("-shm"):
                file = place / Path(name).name
                file.write_bytes(content)
                file.chmod(0o600)


class DiskFile(apsw.VFSFile):
    """A file on it."""

    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        self._name = name.filename() if hasattr(name, "filename") else name
        super().__init__(disk.base, name, flags)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's word
        if self._disk.failing:
            self._disk.failing -= 1
            raise apsw.IOError("the disk does not answer")
        super().xSync(flags)
        if self._name:
            self._disk.survives[self._name] = Path(self._name).read_bytes()


@pytest.fixture
def disk() -> Iterator[Disk]:
    before = apsw.vfs_names()[0]
    made = Disk(f"disk {random.random()}", before)
    yield made
    made.unregister()
    assert apsw.vfs_names()[0] == before


@pytest.mark.parametrize("durability", ["full", "normal"])
@pytest.mark.parametrize("seed", range(2))
def test_a_power_cut_takes_nothing_that_was_acknowledged_or_only_the_end(
    disk: Disk, scratch: Path, durability: str, seed: int
) -> None:
    (scratch / "after").mkdir()
    url = f"sqlite:///{scratch}/threads.db?durability={durability}"
    store = open_store(url)
    thread = thread_of(store, "", "0").id
    chance = random.Random(seed)
    # Long words, so that the write-ahead log is emptied on the way.
    told = [f"{number} " + "word " * 1_000 for number in range(1, chance.randrange(60, 160))]
    for text in told:
        store.append("", thread, entry(said(text)))
    disk.cut(scratch / "after")
    store.close()
    left = open_store(f"sqlite:///{scratch}/after/threads.db")
    found = texts_of(left, "", thread)
    assert left.health().problems == ()
    assert len(left.search("", "word", limit=1_000)) == len(found) - 1
    left.close()
    if durability == "full":
        assert found == ["0", *told]
    else:
        assert found == ["0", *told][: len(found)]
        # The disk is one that takes something.
        assert len(found) <= len(told)


def test_an_fsync_that_fails_is_a_write_that_failed_and_nothing_later_stands_on_it(disk: Disk, scratch: Path) -> None:
    (scratch / "after").mkdir()
    store = open_store(f"sqlite:///{scratch}/threads.db")
    thread = thread_of(store, "", "one").id
    disk.failing = 1
    with pytest.raises(StoreError):
        store.append("", thread, entry(said("two")))
    disk.failing = 0
    assert texts_of(store, "", thread) == ["one"]
    store.append("", thread, entry(said("three")))
    assert texts_of(store, "", thread) == ["one", "three"]
    disk.cut(scratch / "after")
    store.close()
    left = open_store(f"sqlite:///{scratch}/after/threads.db")
    assert texts_of(left, "", thread) == ["one", "three"]
    assert left.health().problems == ()
    left.close()
