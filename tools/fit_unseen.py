"""
Texts that no step of a fit has seen: how near the estimator comes on what it was neither made from nor chosen by.

They are JupyterLab's language packs and some packages of code, unpacked side by side.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tools.fit_corpus import CODE, LANGUAGES, Sample, of_translations
from tools.fit_debian import messages_of

SAMPLES, CHARACTERS, LEAST = 60, 24_000, 1_600
LOCALES = {"zh": ("zh", "zh_CN"), "zh-hant": ("zh_TW",), "pt": ("pt_BR",)}
"""Where it is not the language's own name, or that with a country."""


def unseen(folder: Path) -> Iterator[Sample]:
    """Every sample in there: of a language each package is one source, of code each file."""
    for language in LANGUAGES:
        names = LOCALES.get(language, (language, f"{language}_??"))
        by_package: dict[str, list[str]] = defaultdict(list)
        for name in names:
            for path in sorted([*folder.glob(f"**/{name}/LC_MESSAGES/*.[mp]o"), *folder.glob(f"**/locale/{name}.po")]):
                by_package[path.relative_to(folder).parts[0]].append(_of_catalog(path))
        for package, texts in by_package.items():
            yield from _sample(language, f"{package}/{language}", "\n".join(texts))
    for kind, ends in ({"python": (".py",)} | CODE).items():
        found = sorted(path for end in ends for path in folder.rglob(f"*{end}") if ".min." not in path.name)
        for path in found[:: max(1, len(found) // SAMPLES)]:
            yield from _sample(kind, str(path.relative_to(folder)), path.read_text(errors="replace"))


def _of_catalog(path: Path) -> str:
    if path.suffix == ".po":
        return of_translations(path.read_text(errors="replace"))
    return "\n".join(text for text in messages_of(path) if len(text) > 40)


def _sample(kind: str, source: str, text: str) -> Iterator[Sample]:
    if len(text) >= LEAST:
        yield Sample(kind, source, text[:CHARACTERS], held_out=True)
