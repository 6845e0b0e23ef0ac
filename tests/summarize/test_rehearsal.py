"""What a model's summaries would keep of a session, and what they would cost."""

from __future__ import annotations

import msgspec

from sash.core.size import size_of
from sash.errors import ProviderDown
from sash.summarize import Summarizer
from sash.summarize.rehearsal import ATTEMPTS, Rehearsal
from tests.builders import CHARS4, assistant, user
from tests.scripted import Scripted
from tests.summarize.threads import SMALL, model

POLICY = msgspec.structs.replace(SMALL, history_tokens=1_500, facts_tokens=100)


def talked(provider: Scripted, turns: int) -> Rehearsal:
    rehearsal = Rehearsal(POLICY, CHARS4, Summarizer(provider))
    for number in range(1, turns + 1):
        value = f"value_{number} to {1000 + number} in conf/part{number}.toml"
        for message in (
            user(f"Please set {value}. {'Take care. ' * 30}"),
            assistant(f"{value} it is. {'Well. ' * 30}"),
        ):
            rehearsal.add(message, size_of(message, CHARS4))
    return rehearsal


def sent(rehearsal: Rehearsal) -> str:
    return "\n".join(message.whole_text for message in rehearsal.request())


def test_what_a_model_tells_of_turns_that_left_stands_from_the_next_frame_on() -> None:
    rehearsal = talked(model(), 60)
    assert rehearsal.published > 2
    assert rehearsal.errors == []
    assert rehearsal.spent.calls == rehearsal.published
    assert rehearsal.spent.input_tokens > rehearsal.spent.output_tokens > 0
    assert rehearsal.fold.summary is not None
    assert "summarized here by a model" in sent(rehearsal)
    assert "value_3 to 1003" in sent(rehearsal)
    assert rehearsal.fold.summary.end <= rehearsal.fold.frame.boundary


def test_what_is_not_believed_leaves_the_digest_and_is_not_asked_for_forever() -> None:
    rehearsal = talked(Scripted("Sure, I will go on."), 60)
    assert rehearsal.published == 0
    assert len(rehearsal.errors) == ATTEMPTS
    assert rehearsal.spent.calls == ATTEMPTS
    assert "earlier turns left this window" in sent(rehearsal)
    assert talked(Scripted(ProviderDown("gone")), 60).errors == ["gone"] * ATTEMPTS
