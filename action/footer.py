"""
Posts the pressure of a session as a comment on its issue, or updates the one that was posted before.

All it needs comes as variables: SASH (the command), SESSION, ISSUE, WHOLE, TOKEN, and those that GitHub sets for each
step. Nothing but Python's own library is imported, so it runs wherever Python does.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

SECONDS = 30
NEXT = re.compile(r'<([^<>]+)>;\s*rel="next"')


class Stop(Exception):
    """The step fails, for a reason that is shown on the run's page."""


class Comments:
    """The comments of one issue."""

    def __init__(self, given: Mapping[str, str]) -> None:
        issue = given.get("ISSUE", "")
        if not re.fullmatch(r"[0-9]+", issue):
            raise Stop(f"no issue number, but {issue!r}: give the input 'issue'")
        api = given.get("GITHUB_API_URL") or "https://api.github.com"
        self._comments = f"{api}/repos/{given['GITHUB_REPOSITORY']}/issues/comments"
        self._of_issue = f"{api}/repos/{given['GITHUB_REPOSITORY']}/issues/{issue}/comments"
        self._token = given.get("TOKEN", "")

    def marked(self, mark: str) -> int | None:
        """The first comment whose last line is the mark: one that only quotes it is somebody else's."""
        for comment in self._all():
            if (comment.get("body") or "").rstrip().rsplit("\n", 1)[-1].strip() == mark:
                return int(comment["id"])
        return None

    def post(self, body: str) -> int:
        """A new comment."""
        made, _ = self._ask("POST", self._of_issue, {"body": body})
        return int(made["id"])

    def update(self, number: int, body: str) -> None:
        """Other words for a comment."""
        self._ask("PATCH", f"{self._comments}/{number}", {"body": body})

    def _all(self) -> Iterator[dict[str, Any]]:
        address = f"{self._of_issue}?per_page=100"
        while address:
            found, links = self._ask("GET", address)
            yield from found
            further = NEXT.search(links)
            address = further[1] if further is not None else ""

    def _ask(self, method: str, address: str, body: object = None) -> tuple[Any, str]:
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "User-Agent": "sash-action",
        }
        content = None if body is None else json.dumps(body).encode()
        request = Request(address, content, headers, method=method)  # noqa: S310 - GitHub's own address
        try:
            with urlopen(request, timeout=SECONDS) as answer:  # noqa: S310 - likewise
                return json.load(answer), answer.headers.get("Link", "")
        except HTTPError as error:
            remedy = "; the job needs `permissions: issues: write`" if error.code in (401, 403) else ""
            raise Stop(f"{method} {address}: {error.code} {error.reason}{remedy}") from None
        except (URLError, ValueError) as error:
            raise Stop(f"{method} {address}: {error}") from None


def told(given: Mapping[str, str], *options: str) -> str:
    """What `sash pressure` says of the session."""
    whole = ["--whole"] if given.get("WHOLE") == "true" else []
    command = [given["SASH"], "pressure", *whole, *options, "--", given["SESSION"]]
    ran = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - a list: nothing is a shell's
    if ran.returncode:
        raise Stop(ran.stderr.decode("utf-8", "replace").strip() or f"sash ended with {ran.returncode}")
    return ran.stdout.decode("utf-8").strip()


def footer(given: Mapping[str, str]) -> str:
    """Posts or updates, and says what was done."""
    if not given.get("SESSION"):
        raise Stop("the input 'session' is empty")
    comments = Comments(given)
    pressure = json.loads(told(given, "--json"))
    if given.get("GITHUB_OUTPUT"):
        with Path(given["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as outputs:
            outputs.write(f"percent={pressure['percent']}\nlevel={pressure['level']}\n")
    # Nobody sees it. The session's name is part of it, hashed: it may hold anything, and an issue may have several.
    mark = f"<!-- sash:pressure:{sha256(given['SESSION'].encode()).hexdigest()[:16]} -->"
    known = comments.marked(mark)
    words = told(given, "--markdown")
    if not words and known is None:
        return "little of the window is in use: nothing to post"
    # Less is in use than before: what was posted must not stay.
    body = f"{words or told(given, '--markdown', '--set', 'show_above=0')}\n{mark}"
    if known is None:
        return f"posted comment {comments.post(body)}"
    comments.update(known, body)
    return f"updated comment {known}"


def main() -> int:
    """The exit code of the step."""
    try:
        print(footer(os.environ))
    except Stop as stop:
        # One line, as the runner reads commands.
        print("::error::" + str(stop).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
