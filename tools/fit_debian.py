"""
Prose in many languages for the fit: help pages, manuals, handbooks and catalogs of unpacked Debian packages.

Each package is one source in each of its languages, so that a language is judged by packages that it was not fitted on.
Only whole paragraphs are read, and of those only what is written in the language: a page that nobody has translated yet
is English in every language's folder.
"""

from __future__ import annotations

import gettext
import gzip
import html
import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

DOCUMENTS = ("gnome-user-docs", "debian-handbook", "installation-guide-amd64")
"""Packages that hold one folder for each language."""
ONE_LANGUAGE = (
    "debian-faq",
    "debian-reference",
    "firefox-esr-l10n",
    "fortunes",
    "gimp-help",
    "libreoffice-help",
    "libreoffice-l10n",
    "manpages",
)
"""Packages that have the language in their name."""
PARAGRAPH_CHARACTERS = 60
SOURCE_CHARACTERS = 48_000

LANGUAGES: dict[str, tuple[str, ...]] = {
    "zh": ("zh_CN", "zh-CN", "zh-cn", "zh"),
    "zh-hant": ("zh_TW", "zh-TW", "zh-tw"),
    "pt": ("pt_BR", "pt-BR", "pt-br"),
    "de": ("de", "de-DE"),
    "es": ("es", "es-ES"),
    "fr": ("fr", "fr-FR"),
    "it": ("it", "it-IT"),
    "pl": ("pl", "pl-PL"),
    "cs": ("cs", "cs-CZ"),
    "tr": ("tr", "tr-TR"),
    "vi": ("vi", "vi-VN"),
    "ja": ("ja", "ja-JP"),
    "ko": ("ko", "ko-KR"),
    "ru": ("ru", "ru-RU"),
    "uk": ("uk", "uk-UA"),
    "bg": ("bg", "bg-BG"),
    "el": ("el", "el-GR"),
    "ar": ("ar", "ar-MA"),
    "fa": ("fa", "fa-IR"),
    "he": ("he", "he-IL"),
    "hi": ("hi", "hi-in"),
    "bn": ("bn", "bn-in"),
    "ta": ("ta",),
    "th": ("th",),
}
"""The names that packages and their folders give a language."""
RARER: dict[str, tuple[str, ...]] = {
    "georgian": ("ka",),
    "khmer": ("km",),
    "ethiopic": ("am",),
    "armenian": ("hy-am",),
    "sinhala": ("si",),
    "telugu": ("te",),
    "malayalam": ("ml",),
    "gujarati": ("gu", "gu-in"),
    "kannada": ("kn",),
    "gurmukhi": ("pa", "pa-in"),
    "tibetan": ("dz",),
    "odia": ("or",),
    "burmese": ("my",),
    "urdu": ("ur",),
    "mongolian": ("mn",),
    "uyghur": ("ug",),
}
"""Scripts that few conversations are held in, by the languages that are written in them."""
LATIN = {"pt", "de", "es", "fr", "it", "pl", "cs", "tr", "vi"}
_ENGLISH = re.compile(r"\b(?:the|of|and|is|you|this|with|for)\b")
_LETTERS = re.compile(r"[^\W\d_]")


def texts(debian: Path, names: Iterable[str], *, latin: bool | None) -> Iterator[tuple[str, str]]:
    """Of a language, each package that has any of it, with its paragraphs; `latin` is None for English itself."""
    names = tuple(names)
    of_it = {f"{package}-{name.lower()}" for package in ONE_LANGUAGE for name in names}
    for package in sorted(debian.iterdir()):
        if package.name in DOCUMENTS:
            roots = [path for name in names for path in package.glob(f"usr/share/**/{name}") if path.is_dir()]
        else:
            roots = [package] if package.name in of_it else []
        found = dict.fromkeys(
            paragraph for root in roots for paragraph in paragraphs(root) if _is_written_in_it(paragraph, latin=latin)
        )
        chosen, size = [], 0
        # Evenly from all of it: a manual begins with its licence.
        whole = list(found)
        step = max(1, sum(map(len, whole)) // SOURCE_CHARACTERS)
        for paragraph in whole[::step]:
            chosen.append(paragraph)
            size += len(paragraph)
            if size > SOURCE_CHARACTERS:
                break
        if chosen:
            yield package.name, "\n".join(chosen)


def paragraphs(root: Path) -> Iterator[str]:
    """The paragraphs of all pages, manuals, catalogs and collections of sayings under a folder."""
    for path in sorted(root.rglob("*")):
        if not path.is_file() or path.is_symlink():
            continue
        if path.suffix in {".page", ".html"}:
            yield from _of_markup(path.read_text(errors="replace"))
        elif path.suffix == ".gz" and path.parent.name.startswith("man"):
            yield from _of_manual(gzip.decompress(path.read_bytes()).decode(errors="replace"))
        elif path.suffix == ".mo":
            yield from messages_of(path)
        elif path.suffix == ".xpi":
            yield from _of_extension(path)
        elif path.parent.parent.name == "fortunes" or path.parent.name == "fortunes":
            yield from _of_sayings(path)


def _is_written_in_it(paragraph: str, *, latin: bool | None) -> bool:
    if len(paragraph) < PARAGRAPH_CHARACTERS or "�" in paragraph:
        return False
    if latin is None:
        return True
    if latin:
        return len(_ENGLISH.findall(paragraph)) * 40 < len(paragraph)
    letters: list[str] = _LETTERS.findall(paragraph)
    return sum(letter > "\u024f" for letter in letters) > 0.6 * len(letters)


_PARAGRAPH = re.compile(r"<(p|dd|li)\b[^>]*>(.*?)</\1>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_SPACE = re.compile(r"\s+")


def _of_markup(page: str) -> Iterator[str]:
    for _, inner in _PARAGRAPH.findall(page):
        yield _SPACE.sub(" ", html.unescape(_TAG.sub("", inner))).strip()


_ROFF = re.compile(r"\\f(?:\[[^\]]*\]|\(..|.)|\\s[-+]?\d|\\&|\\\|")


def _of_manual(manual: str) -> Iterator[str]:
    lines: list[str] = []
    for line in [*manual.splitlines(), ".PP"]:
        if not line.startswith((".", "'")):
            lines.append(line)
        elif line.startswith((".I ", ".B ")):
            lines.append(line[3:])
        else:
            text = _ROFF.sub("", " ".join(lines)).replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\")
            lines = []
            yield _SPACE.sub(" ", text).strip()


def messages_of(path: Path) -> Iterator[str]:
    try:
        with path.open("rb") as file:
            catalog = gettext.GNUTranslations(file)
    except (OSError, UnicodeDecodeError, ValueError):
        return
    for message in catalog._catalog.values():  # type: ignore[attr-defined]  # noqa: SLF001 - there is no other way to list them
        yield _SPACE.sub(" ", _TAG.sub("", message)).strip()


_FLUENT = re.compile(r"^(?:[\w-]+|\s+\.[\w-]+) = (.+(?:\n    +[^.\[*}\s].*)*)", re.MULTILINE)


def _of_extension(path: Path) -> Iterator[str]:
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".ftl"):
                for text in _FLUENT.findall(archive.read(name).decode(errors="replace")):
                    yield _SPACE.sub(" ", _TAG.sub("", text)).strip()


def _of_sayings(path: Path) -> Iterator[str]:
    content = path.read_bytes()
    if b"\n%\n" in content:
        for saying in content.decode(errors="replace").split("\n%\n"):
            yield saying.strip()
