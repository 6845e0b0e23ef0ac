"""`sash serve` and `sash key` as people run them."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import msgspec
import pytest


def sash(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "sash", *words], capture_output=True, text=True, check=False)


@contextmanager
def served(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "sash", "serve", "--port", "0", *words], stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        line = next(line for line in process.stderr if line.startswith("sash serves "))
        yield process, line.split()[2]
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_a_server_that_is_told_to_stop_ends_with_zero(tmp_path: Path) -> None:
    with served("--store", f"sqlite:///{tmp_path}/sash.db") as (process, url):
        assert httpx2.get(f"{url}/health/readiness").json()["status"] == "ready"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def test_several_workers_answer_on_one_address_and_end_together(tmp_path: Path) -> None:
    with served("--store", f"sqlite:///{tmp_path}/sash.db", "--workers", "2") as (process, url):
        assert httpx2.get(f"{url}/health/readiness", timeout=60).json()["status"] == "ready"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_a_port_that_is_taken_is_told_in_one_line(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/sash.db"
    with served("--store", store) as (_, url):
        done = sash("serve", "--store", store, "--port", url.rpartition(":")[2])
        assert done.returncode == 1
        assert done.stderr.startswith("sash: cannot listen on '127.0.0.1'")


def test_a_public_address_without_keys_is_refused_in_one_line() -> None:
    done = sash("serve", "--host", "0.0.0.0", "--port", "0", "--store", "memory:")
    assert done.returncode == 1
    assert "sash key new" in done.stderr


def test_a_key_is_shown_once_opens_the_door_and_is_revoked(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/sash.db"
    made = msgspec.json.decode(sash("key", "new", "--store", store, "--tenant", "alice", "--json").stdout)
    assert made["tenant"] == "alice"
    with served("--store", store, "--require-key") as (_, url):
        shown = {"authorization": f"Bearer {made['key']}"}
        assert httpx2.get(f"{url}/metrics", headers=shown).status_code == 200
        assert sash("key", "revoke", "--store", store, "--tenant", "bob", made["key"]).returncode == 1
        assert sash("key", "revoke", "--store", store, "--tenant", "alice", made["key"]).returncode == 0
    with served("--store", store, "--require-key") as (_, url):
        assert httpx2.get(f"{url}/metrics", headers=shown).status_code == 401
    for file in tmp_path.iterdir():
        assert made["key"].encode() not in file.read_bytes()


def test_only_a_missing_package_of_the_extra_is_blamed_on_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import sys; sys.modules['uvicorn'] = None; from sash.cli.main import main; sys.exit(main(['serve']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "sash[server]" in done.stderr
