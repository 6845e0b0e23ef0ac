"""`sash wrap`: the tool finds the proxy, and both end together."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sash.server.proxy.clients import LAUNCHES
from tests.proxy.upstream import ScriptedUpstream

TELLING = """#!{python}
import json, os, sys, urllib.request
names = ("ANTHROPIC_BASE_URL", "OPENAI_API_BASE", "OPENCODE_CONFIG_CONTENT")
told = {{"arguments": sys.argv[1:], "variables": {{name: os.environ.get(name, "") for name in names}}}}
if "--extension" in sys.argv:
    told["extension"] = open(sys.argv[sys.argv.index("--extension") + 1]).read()
if told["variables"]["ANTHROPIC_BASE_URL"]:
    body = json.dumps({{"model": "m", "max_tokens": 5, "messages": [{{"role": "user", "content": "hi"}}]}}).encode()
    url = told["variables"]["ANTHROPIC_BASE_URL"] + "/v1/messages"
    with urllib.request.urlopen(urllib.request.Request(url, body)) as answer:
        told["answer"] = json.load(answer)["content"][0]["text"]
print(json.dumps(told))
sys.exit(7)
"""


def wrapped(tmp_path: Path, upstream: ScriptedUpstream, tool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = tmp_path / tool
    script.write_text(TELLING.format(python=sys.executable))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    flags = ["--upstream-openai", upstream.openai, "--upstream-anthropic", upstream.anthropic, "--set", "store=memory:"]
    return subprocess.run(
        [sys.executable, "-m", "sash", "wrap", *flags, tool, *arguments],
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


def test_a_tool_talks_through_the_proxy_and_its_exit_code_is_kept(tmp_path: Path, upstream: ScriptedUpstream) -> None:
    done = wrapped(tmp_path, upstream, "claude", "--", "--model", "opus", "-p", "hi")
    assert done.returncode == 7, done.stderr
    told = json.loads(done.stdout)
    assert told["answer"] == "answer 1"
    assert told["arguments"] == ["--model", "opus", "-p", "hi"]
    assert upstream.last.path == "/v1/messages"


def test_each_tool_is_told_in_its_own_way(tmp_path: Path) -> None:
    url = "http://127.0.0.1:7274"
    launches = {tool: launch(url, tmp_path) for tool, launch in LAUNCHES.items()}
    assert launches["claude"].variables == {"ANTHROPIC_BASE_URL": url}
    assert launches["codex"].arguments == ("-c", f'openai_base_url="{url}/v1"')
    assert launches["aider"].variables["OPENAI_API_BASE"] == f"{url}/v1"
    config = json.loads(launches["opencode"].variables["OPENCODE_CONFIG_CONTENT"])
    assert config["provider"]["anthropic"]["options"]["baseURL"] == f"{url}/v1"
    extension = Path(launches["pi"].arguments[1]).read_text()
    assert f'pi.registerProvider("anthropic", {{ baseUrl: "{url}" }})' in extension


@pytest.mark.parametrize("arguments", [["claude"], ["no-such-tool"]])
def test_a_tool_that_is_not_there_is_told(arguments: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sash", "wrap", *arguments],
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert arguments[0] in done.stderr


def test_a_server_that_cannot_start_is_told(tmp_path: Path, upstream: ScriptedUpstream) -> None:
    (tmp_path / "claude").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "claude").chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "sash", "wrap", "--upstream-openai", "ftp://x", "claude"],
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "ftp://x" in done.stderr
