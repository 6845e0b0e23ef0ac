"""The doctor finds what is wrong and says what to do; a backup is a store of its own."""

from __future__ import annotations

from pathlib import Path

import msgspec

from sash.cli.backup import Copied
from sash.cli.doctor import Diagnosis
from sash.thread import open_thread
from tests.cli.front_door import here


def stored(home: Path) -> str:
    url = f"sqlite:///{home}/threads.db"
    with open_thread("work", store=url) as thread:
        thread.append({"role": "user", "content": "remember the lighthouse"})
    return url


def diagnosis(home: Path, *words: str) -> tuple[int, Diagnosis]:
    ran = here("doctor", *words, "--json", home=home)
    return ran.code, msgspec.json.decode(ran.out, type=Diagnosis)


def test_a_store_that_is_well_is_well(tmp_path: Path) -> None:
    url = stored(tmp_path)
    code, found = diagnosis(tmp_path, "--store", url)
    assert (code, found.ok) == (0, True)
    assert {"sash", "counter", "store", "schema", "integrity", "write-ahead log"} <= {one.what for one in found.checks}
    ran = here("doctor", "--store", url, home=tmp_path)
    assert ran.code == 0
    assert "every page and every event" in ran.out


def test_without_a_store_the_installation_is_looked_at(tmp_path: Path) -> None:
    code, found = diagnosis(tmp_path)
    assert (code, found.ok) == (0, True)
    (store,) = (one for one in found.checks if one.what == "store")
    assert store.state == "absent"
    assert str(tmp_path) in store.found
    _, named = diagnosis(tmp_path, "--store", f"sqlite:///{tmp_path}/elsewhere.db")
    (store,) = (one for one in named.checks if one.what == "store")
    assert store.found == f"there is none yet; the first thread makes {tmp_path}/elsewhere.db"


def test_a_store_that_cannot_be_made_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for url, said in (
        (f"sqlite:///{tmp_path}/file/deep/threads.db", "file is no folder"),
        ("mysql://host", "is no store"),
    ):
        code, found = diagnosis(tmp_path, "--store", url)
        assert (code, found.ok) == (1, False)
        (problem,) = (one.found for one in found.checks if one.what == "store")
        assert said in problem


def test_the_window_of_the_model_is_told_with_the_day_of_what_is_known(tmp_path: Path) -> None:
    _, known = diagnosis(tmp_path, "--model", "claude-opus-5")
    _, unknown = diagnosis(tmp_path, "--model", "nobodys-model")
    windows = [next(one.found for one in found.checks if one.what == "window") for found in (known, unknown)]
    assert "for 'claude-opus-5'; models as of 2" in windows[0]
    assert "tokens, a default for 'nobodys-model'" in windows[1]


def test_damage_open_files_and_an_unreachable_server_are_problems_with_a_remedy(tmp_path: Path) -> None:
    url = stored(tmp_path)
    file = tmp_path / "threads.db"
    file.chmod(0o644)
    code, found = diagnosis(tmp_path, "--store", url)
    assert code == 1
    assert next(one.found for one in found.checks if one.state == "problem").endswith("chmod 600 it")
    file.chmod(0o600)
    file.write_bytes(file.read_bytes().replace(b"remember the lighthouse", b"remember the lightHouse"))
    ran = here("doctor", "--store", url, home=tmp_path)
    assert ran.code == 1
    assert "restore a backup" in " ".join(ran.out.split()), "where the line breaks depends on the length of the path"
    code, found = diagnosis(tmp_path, "--store", "postgresql://nobody@127.0.0.1:1/none")
    assert code == 1
    assert not found.ok


def test_a_backup_is_a_store_of_its_own_and_is_never_written_over(tmp_path: Path) -> None:
    url = stored(tmp_path)
    ran = here("backup", "copy.db", "--store", url, "--json", home=tmp_path)
    assert ran.code == 0, ran.err
    copied = msgspec.json.decode(ran.out, type=Copied)
    assert copied.bytes == (tmp_path / "copy.db").stat().st_size
    with open_thread("work", store=f"sqlite:///{tmp_path}/copy.db") as thread:
        assert thread.request()["messages"] == [{"role": "user", "content": "remember the lighthouse"}]
    nowhere = here("backup", "no/such/folder/copy.db", "--store", url, home=tmp_path)
    assert (nowhere.code, (tmp_path / "no").exists()) == (1, False)
    assert "its folder is not there" in nowhere.err
    again = here("backup", "copy.db", "--store", url, home=tmp_path)
    assert again.code == 2
    assert "already" in again.err
