"""
`python -m bench [--quick] [--provider NAME:MODEL] [NAME ...]`: run every `bench/bench_NAME.py`, or those named.

Smaller with `--quick`; `--provider` says who writes summaries where a model's are measured.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path

from bench.peers import OFFLINE
from bench.report import Report

PREFIX = "bench_"
QUICK = "--quick"
PROVIDER = "--provider"


def names() -> list[str]:
    """What there is to measure, by file name."""
    return sorted(path.stem.removeprefix(PREFIX) for path in Path(__file__).parent.glob(f"{PREFIX}*.py"))


def main(wanted: list[str]) -> int:
    """Run them one after the other, in this process, so that their tables come from one run."""
    if QUICK in wanted:
        wanted = [name for name in wanted if name != QUICK]
        os.environ["SASH_BENCH_QUICK"] = "1"
    if PROVIDER in wanted[:-1]:
        place = wanted.index(PROVIDER)
        os.environ["SASH_BENCH_PROVIDER"] = wanted[place + 1]
        wanted = [*wanted[:place], *wanted[place + 2 :]]
    known = names()
    unknown = [name for name in wanted if name not in known]
    if unknown:
        print(f"bench: no benchmark named {unknown[0]!r}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    os.environ.update(OFFLINE)
    report = Report()
    for name in wanted or known:
        import_module(f"bench.{PREFIX}{name}").run(report)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
