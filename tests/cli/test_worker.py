"""`sash worker` through the front door."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from sash.cli.worker import WorkDone
from sash.store import open_store
from tests.cli.front_door import here
from tests.summarize.building import faithful
from tests.summarize.threads import slid
from tests.upstream import Asked, Reply, openai_stream, upstream


def test_who_writes_must_be_said(tmp_path: Path) -> None:
    ran = here("worker", "--once", home=tmp_path)
    assert ran.code == 2
    assert "--summarizer PROVIDER:MODEL" in ran.err


def test_a_worker_does_what_is_due_over_http_and_says_so(tmp_path: Path) -> None:
    def good(asked: Asked) -> Reply:
        question = asked.json()["messages"][-1]["content"]
        written = faithful(question).replace(" is ", " to ").replace(", in", " in")
        return Reply(openai_stream(*written.splitlines(keepends=True)))

    url = f"sqlite:///{tmp_path}/threads.db"
    store = open_store(url)
    thread = slid(store, "")
    with upstream(script=good) as served:
        words = ("worker", "--once", "--store", url, "--summarizer", "openai:good", "--base-url", f"{served.url}/v1")
        ran = here(*words, "--json", home=tmp_path)
        assert ran.code == 0, ran.err
        [made] = msgspec.json.decode(ran.out, type=WorkDone).threads
        assert (made.outcome, made.thread) == ("published", thread.id)
        assert json.loads(here(*words, "--json", home=tmp_path).out) == {"threads": []}
    assert len(thread.summaries()) == 1
    store.close()


def test_a_failure_is_an_exit_code_and_a_sentence(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/threads.db"
    store = open_store(url)
    slid(store, "")
    ran = here("worker", "--once", "--store", url, "--summarizer", "echo", home=tmp_path)
    assert ran.code == 1
    assert "failed: the summary was rejected" in ran.err
    store.close()


def test_a_thread_that_was_given_up_is_tried_again_by_name(tmp_path: Path) -> None:
    """S9."""
    url = f"sqlite:///{tmp_path}/threads.db"
    store = open_store(url)
    thread = slid(store, "", "stuck")
    lease = store.claim_due_summary("", lease_seconds=60)
    assert lease is not None
    store.fail_summary(lease, "nobody answered", retry_seconds=0, park=True)
    words = ("worker", "--once", "--store", url, "--summarizer", "echo")
    assert here(*words, home=tmp_path).code == 0
    shown = here("explain", "stuck", "--store", url, home=tmp_path)
    assert "given up until it is tried again by hand: nobody answered" in " ".join(shown.out.split())
    again = here(*words, "--retry", "stuck", home=tmp_path)
    assert (again.code, "failed: the summary was rejected" in again.err) == (1, True)
    trouble = thread.trouble()
    assert trouble is not None
    assert (trouble.attempts, trouble.parked) == (1, False)
    nobody = here(*words, "--retry", "nobody", home=tmp_path)
    assert (nobody.code, "'nobody'" in nobody.err) == (1, True)
    store.close()
