"""
Nothing but typed usage: what users write, and the types that a checker must see.

mypy reads this file in `make check`; `test_typing.py` proves that it would notice, and runs it.
"""

from __future__ import annotations

from typing import assert_type

import sash


def the_version_is_text() -> None:
    """Programs compare and print it."""
    assert_type(sash.__version__, str)


def an_error_tells_where() -> None:
    """Programs read the attributes, people the sentence."""
    error = sash.InvalidMessage("the role is missing", position=3, field="role")
    assert_type(error.position, int | None)
    assert_type(error.field, str)
    assert_type(error.problem, str)


def every_error_of_ours_is_caught_by_one_name() -> None:
    """One except clause is enough."""
    try:
        raise sash.InvalidMessage("not a message")
    except sash.SashError as error:
        assert_type(error, sash.SashError)


def a_preset_takes_changes_by_keyword() -> None:
    """A checker knows the fields of a policy there too."""
    assert_type(sash.Policy.chat(history_tokens=4_000, order="priority"), sash.Policy)
    assert_type(sash.Policy.recent(5, max_chars=900).recent_turns, int)
