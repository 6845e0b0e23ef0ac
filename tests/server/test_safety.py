"""Strangers, foreign pages and hostile bodies."""

from __future__ import annotations

from pathlib import Path

import pytest

from sash.cli.serve import serve
from sash.errors import ServerRefused
from sash.server.keys import make_key
from sash.server.setup import ServerSetup, refuse_open_door
from sash.store import open_store
from sash.store.memory import MemoryStore
from tests.server.serving import Running, running


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_a_public_address_is_refused_without_a_key(host: str) -> None:
    with pytest.raises(ServerRefused, match="sash key new"):
        refuse_open_door(ServerSetup(host=host))
    refuse_open_door(ServerSetup(host=host, require_key=True))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_a_loopback_address_needs_no_key(host: str) -> None:
    refuse_open_door(ServerSetup(host=host))


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:7274", "", "[::"])
def test_a_foreign_name_is_turned_away(server: Running, host: str) -> None:
    response = server.ask("GET", "/health/liveness", headers={"host": host})
    assert response.status_code == 403
    assert response.json()["error"]["code"] == "FORBIDDEN"


@pytest.mark.parametrize("host", ["localhost:9", "LOCALHOST", "127.0.0.1", "[::1]:7274"])
def test_the_names_of_this_machine_are_answered(server: Running, host: str) -> None:
    assert server.ask("GET", "/health/liveness", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:1", "file://"])
def test_a_page_of_another_origin_is_turned_away(server: Running, origin: str) -> None:
    assert server.ask("GET", "/openapi.json", headers={"origin": origin}).status_code == 403


def test_the_servers_own_page_may_call_it(server: Running) -> None:
    assert server.ask("GET", "/openapi.json", headers={"origin": server.url}).status_code == 200


def test_an_allowed_origin_is_answered_and_told_so() -> None:
    setup = ServerSetup(port=0, store="memory:", allowed_origins=("https://chat.example",))
    with running(setup) as server:
        given = {"origin": "https://chat.example"}
        response = server.ask("GET", "/health/liveness", headers=given)
        assert response.headers["access-control-allow-origin"] == "https://chat.example"
        asked = server.ask("OPTIONS", "/metrics", headers=given | {"access-control-request-method": "POST"})
        assert asked.status_code == 204


def test_every_answer_forbids_inline_scripts_and_frames(server: Running) -> None:
    for path in ("/health/liveness", "/nowhere", "/openapi.json"):
        headers = server.ask("GET", path).headers
        policy = headers["content-security-policy"]
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "query", ["key=abc", "api_key=x", "x=1&token=y", "q=sash_" + "a-Z_9" * 8, "q=sash%5F" + "b" * 43]
)
def test_a_key_in_an_address_is_refused(server: Running, query: str) -> None:
    assert server.ask("GET", f"/metrics?{query}").status_code == 400


def test_a_word_that_begins_as_keys_do_may_be_searched_for(server: Running) -> None:
    assert server.get("/v1/search?text=sash_expand") == {"found": []}


def test_who_is_turned_away_is_told_an_option_that_there_is(server: Running) -> None:
    name = server.ask("GET", "/metrics", headers={"host": "evil.example"})
    page = server.ask("GET", "/metrics", headers={"origin": "http://evil.example"})
    for refused in (name, page):
        option = refused.json()["error"]["message"].split()[-1]
        assert option in {flag for parameter in serve.params for flag in parameter.opts}


def test_only_who_shows_a_key_comes_in() -> None:
    store = MemoryStore()
    made = make_key(store, "alice", "laptop")
    with running(ServerSetup(port=0, require_key=True), store=store) as server:
        refused = server.ask("GET", "/metrics")
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        for wrong in ("sash_nobody", made.key[:-1], made.key + "x", "sash_' OR 1=1 --", "x"):
            assert server.ask("GET", "/metrics", headers={"authorization": f"Bearer {wrong}"}).status_code == 401
        for right in ({"authorization": f"Bearer {made.key}"}, {"x-api-key": made.key}, {"x-sash-key": made.key}):
            assert server.ask("GET", "/metrics", headers=right).status_code == 200
        # Health is asked by machines that hold no keys.
        assert server.ask("GET", "/health/liveness").status_code == 200


def test_a_key_from_the_environment_comes_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SASH_API_KEY", "sash_" + "e" * 40)
    with running(ServerSetup(port=0, require_key=True, store="memory:")) as server:
        assert server.ask("GET", "/metrics", headers={"x-sash-key": "sash_" + "e" * 40}).status_code == 200
        assert server.ask("GET", "/metrics", headers={"x-sash-key": "sash_" + "f" * 40}).status_code == 401


def test_what_is_stored_of_a_key_does_not_open_the_door() -> None:
    store = MemoryStore()
    made = make_key(store, "alice")
    assert made.key not in repr(vars(store))
    [digest] = store._keys
    with running(ServerSetup(port=0, require_key=True), store=store) as server:
        shown = {"authorization": f"Bearer sash_{digest.hex()}"}
        assert server.ask("GET", "/metrics", headers=shown).status_code == 401


def test_unknown_addresses_and_methods_are_told_in_the_same_form(server: Running) -> None:
    assert server.ask("GET", "/v2/nothing").json()["error"]["code"] == "NOT_FOUND"
    assert server.ask("DELETE", "/metrics").status_code == 405


def test_readiness_follows_the_store_and_liveness_does_not(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/sash.db")
    with running(store=store) as server:
        assert server.get("/health/readiness")["status"] == "ready"
        store.close()
        broken = server.ask("GET", "/health/readiness")
        assert (broken.status_code, broken.json()["store"]) == (503, "unavailable")
        assert server.ask("GET", "/health/liveness").status_code == 200


def test_a_draining_server_is_not_ready() -> None:
    with running() as server:
        server.backend.draining = True
        assert server.ask("GET", "/health/readiness").json()["status"] == "draining"


def test_metrics_name_routes_and_never_addresses(server: Running) -> None:
    server.ask("GET", "/v1/sash/secret-address")
    text = server.ask("GET", "/metrics").text
    assert 'sash_http_requests_total{method="OTHER",route="",status="404"}' in text
    assert "secret-address" not in text
    assert "sash_http_requests_in_flight 1" in text


def test_a_request_has_an_id_that_the_caller_may_choose(server: Running) -> None:
    chosen = server.ask("GET", "/health/liveness", headers={"x-request-id": "abc-1"})
    assert chosen.headers["x-request-id"] == "abc-1"
    made = server.ask("GET", "/health/liveness", headers={"x-request-id": "a b\x1b[31m"})
    assert made.headers["x-request-id"].startswith("req_")
