"""
Real sessions sent through the proxy, request by request: what the provider finds in its cache, and what that costs.

Beside them the same requests without a proxy, which the model's window ends sooner or later, and a proxy that clips the
oldest messages to just under the same cap each time. What goes out is what the proxy plans: its own function, its own
bytes. Cost is input only, at Anthropic's shape (cache write 1.25, read 0.1), in millions of tokens at list price.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from bench.bench_window import quick
from bench.histories import Said
from bench.report import Report
from bench.transcripts import sessions
from sash.core.cost import ANTHROPIC, Account, Charge, Piece, account
from sash.core.policy import Policy
from sash.server.proxy.plan import planned, sketch_of
from sash.server.proxy.setup import ProxySetup

CAP = 30_000
LONG = 1.5
MOST = 4


def run(report: Report) -> None:
    """Every session that is long enough for the cap; a few with `--quick`."""
    long = [said for said in sessions().values() if _tokens(said) > LONG * CAP]
    if not long:
        report.table("The proxy's cost", ["no transcripts at $SASH_DATA or ../shared/data"], [])
        return
    long = sorted(long, key=_tokens)[: MOST if quick() else None]
    rows = []
    ways: dict[str, Callable[[list[Said]], list[Said]]] = {
        "no proxy: the whole history": lambda said: said,
        "clipped to the cap": _clipped,
        "sash": _through_the_proxy,
    }
    for name, way in ways.items():
        totals = [_replayed(said, way) for said in long]
        charge = sum((total.charge for total in totals), Charge())
        requests = sum(total.requests for total in totals)
        rows.append(
            [
                name,
                f"{requests:,}",
                f"{charge.tokens / requests:,.0f}",
                f"{charge.cached_share:.0%}",
                f"{charge.cost(ANTHROPIC) / 1e6:.2f}",
                f"{sum(total.breaks for total in totals):,}",
            ]
        )
    report.table(
        f"{len(long)} real sessions through the proxy, at most {CAP:,} tokens of history",
        ["sent", "requests", "tokens each", "from the cache", "cost, M tokens", "cache breaks"],
        rows,
        note="Without a proxy nothing limits a request: the longest of these sessions is larger than some windows.",
    )


def _replayed(said: list[Said], way: Callable[[list[Said]], list[Said]]) -> Account:
    return account(list(map(_pieces, map(way, _requests(said)))), smallest=ANTHROPIC.smallest)


def _requests(said: list[Said]) -> list[list[Said]]:
    """The history at each moment at which a model was asked."""
    ends = [end for end in range(1, len(said) + 1) if said[end - 1]["role"] != "assistant"]
    return [said[:end] for end in ends if end == len(said) or said[end]["role"] != "tool"]


def _pieces(sent: Sequence[Said]) -> list[Piece]:
    written = [json.dumps(one, ensure_ascii=False).encode() for one in sent]
    return [Piece(one, len(one) // 4) for one in written]


def _clipped(said: list[Said]) -> list[Said]:
    """The newest messages under the cap, from a message of the user's on where there is one."""
    size, start = 0, len(said)
    while start > 0 and size + _tokens(said[start - 1 : start]) <= CAP:
        start -= 1
        size += _tokens(said[start : start + 1])
    while start < len(said) - 1 and said[start]["role"] == "tool":
        start += 1
    return said[min(start, len(said) - 1) :]


_SETUP = ProxySetup(policy=Policy(history_tokens=CAP))


def _through_the_proxy(said: list[Said]) -> list[Said]:
    body = json.dumps({"model": "claude-opus-5", "messages": said}, ensure_ascii=False).encode()
    plan = planned(body, "openai-chat", sketch_of(body), _SETUP)
    sent: list[Said] = json.loads(plan.body)["messages"]
    return sent


def _tokens(said: Sequence[Said]) -> int:
    return sum(len(json.dumps(one, ensure_ascii=False).encode()) // 4 for one in said)
