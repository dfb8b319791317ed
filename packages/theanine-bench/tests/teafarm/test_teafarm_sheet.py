"""Question files: reading, writing, and errors with their line."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theanine.errors import BadInput
from theanine.fences import one_line
from theanine_bench.teafarm.metrics import find_faults
from theanine_bench.teafarm.questions import (
    CounterfactualQuestion,
    EvidenceTurn,
    format_header,
    format_question,
    read_outline,
    read_question_file,
)

WHOLE = """\
# A comment.
data: talks.jsonl

[ana/1]
user: ana
set: MSC
at: 2025-03-01T10:00:00+01:00
asks: Ana
answers: Theo
assumes: Ana still works at the shipyard.
question: How was the shipyard,
  did they keep you late?
answer: She left it in June.
evidence:
  a-letter | a-letter-1 | Ana: I quit my job: yesterday.
  as I know her
session:
  Ana: Hi Theo: long time.
# Between two turns.
  Theo: Hi!
must say:
  quit | left
  honey
must not say:
  late
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "q.txt"
    file.write_text(text, "utf-8")
    return file


def test_every_field_is_read(tmp_path: Path) -> None:
    sheet = read_question_file(written(tmp_path, WHOLE))
    assert (sheet.data, sheet.store) == ("talks.jsonl", "")
    (question,) = sheet.questions
    assert question == CounterfactualQuestion(
        id="ana/1",
        user="ana",
        data_set="MSC",
        at=datetime.fromisoformat("2025-03-01T10:00:00+01:00"),
        asks="Ana",
        answers="Theo",
        assumes="Ana still works at the shipyard.",
        text="How was the shipyard, did they keep you late?",
        answer="She left it in June.",
        evidence=(
            EvidenceTurn(
                session="a-letter",
                turn="a-letter-1",
                speaker="Ana",
                text="I quit my job: yesterday.",
            ),
            EvidenceTurn(text="as I know her"),
        ),
        session=(("Ana", "Hi Theo: long time."), ("Theo", "Hi!")),
        must_say=("quit | left", "honey"),
        must_not_say=("late",),
        where="q.txt, line 4",
    )


def test_the_shortest_question(tmp_path: Path) -> None:
    file = written(tmp_path, "[a]\nasks: Ana\nquestion: Why?\nanswer: Because.\n")
    (question,) = read_question_file(file).questions
    assert (question.user, question.answers, question.session, question.has_rules) == (
        "",
        "assistant",
        (),
        False,
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no question in it"),
        ("asks: Ana\n", 'line 1: "asks" before the first question'),
        ("colour: red\n", 'line 1: no field "colour"'),
        ("  Ana: hello\n", "line 1: an indented line with no field"),
        ("[a]\n  Ana: hello\n", "line 2: an indented line with no field"),
        ("[a]\nHello there\n", 'line 2: no "field: words"'),
        ("[a]\nquesion: Why?\n", 'line 2: no field "quesion"; there are: user, asks'),
        ("[a]\nasks: A\nasks: B\n", 'line 3: "asks" is in line 2 already'),
        ("[a]\nasks: A\nanswer: B\n", r"line 1: \[a\] has no question"),
        ("[a]\nasks: A\nquestion:\nanswer: B\n", r"line 3: \[a\] has no question"),
        ("[a]\nasks: A\nquestion: Q\nanswer: B\nat: May\n", 'line 5: "May" is not an ISO 8601'),
        ("[a]\nasks: A\nquestion: Q\nanswer: B\nsession:\n  Hi\n", 'line 6: no "Speaker: words"'),
        ("[a]\nasks: A\nquestion: Q\nanswer: B\nmust say:\n  x |\n", "line 6: an alternative"),
        (
            "[a]\nasks: A\nquestion: Q\nanswer: B\n\n[a]\nasks: A\nquestion: Q\nanswer: B\n",
            r"line 6: \[a\] is in line 1 already",
        ),
    ],
)
def test_mistakes_name_their_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_question_file(written(tmp_path, text))


def test_missing_or_binary_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="can't be read"):
        read_question_file(tmp_path / "no.txt")
    (tmp_path / "b.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match="can't be read"):
        read_question_file(tmp_path / "b.txt")


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(
    lambda text: any(c.isalnum() for c in text)
)
LINE = WORDS.map(lambda text: one_line(" ".join(text.split())))  # as a sheet shows it
NAME = st.from_regex(r"[A-Za-z]{1,5}( [A-Za-z0-9]{1,4})?", fullmatch=True)
EVIDENCE = st.builds(EvidenceTurn, session=NAME, turn=NAME, speaker=NAME, text=LINE)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.builds(
        CounterfactualQuestion,
        id=NAME,
        user=NAME,
        asks=NAME,
        answers=NAME,
        assumes=LINE,
        text=LINE,
        answer=LINE,
        evidence=st.lists(EVIDENCE, max_size=2).map(tuple),
        session=st.lists(st.tuples(NAME, LINE), max_size=2).map(tuple),
        must_say=st.lists(NAME, max_size=2).map(tuple),
        at=st.none()
        | st.datetimes(datetime(1950, 1, 1), datetime(2150, 1, 1)).map(
            lambda at: at.replace(tzinfo=UTC)
        ),
        data_set=st.sampled_from(["", "MSC"]),
    )
)
def test_written_questions_are_read_back(
    tmp_path_factory: pytest.TempPathFactory, question: CounterfactualQuestion
) -> None:
    file = tmp_path_factory.mktemp("sheet") / "q.txt"
    file.write_text(format_header(data="d") + "\n" + format_question(question), "utf-8")
    (again,) = read_question_file(file).questions
    for name in (
        "id",
        "asks",
        "text",
        "answer",
        "assumes",
        "evidence",
        "session",
        "at",
        "must_say",
    ):
        assert getattr(again, name) == getattr(question, name)


def test_a_blank_question_shows_what_to_fill_in(tmp_path: Path) -> None:
    blank = CounterfactualQuestion(
        id="ana/1", user="ana", asks="Ana", answers="Theo", text="", answer=""
    )
    file = written(tmp_path, format_header(store="memory.db") + format_question(blank))
    assert read_outline(file) == ({"data": "", "store": "memory.db"}, {"ana"})
    for name in ("assumes:", "question:", "answer:", "must say:", "must not say:"):
        assert f"\n{name}\n" in file.read_text("utf-8")
    with pytest.raises(BadInput, match=r"\[ana/1\] has no question; write"):
        read_question_file(file)


@pytest.mark.parametrize(
    ("reply", "must", "must_not", "faults"),
    [
        ("She QUIT it.", ("quit | left",), (), 0),
        ("She\nnever   went.", ("never went",), (), 0),
        ("She didn’t go.", ("didn't",), (), 0),
        ("She quitted it.", ("quit",), (), 1),
        ("She quit, and loves honey.", ("quit", "honey"), ("shipyard",), 0),
        ("The shipyard is fine.", ("quit",), ("shipyard",), 2),
        ("Ｑｕｉｔ", ("quit",), (), 0),
        ("a+b", ("a+b",), ("a.b",), 0),
        ("", (), ("x",), 0),
        ("她离开了船厂", ("离开",), (), 0),
    ],
)
def test_phrases_match_whole_words_in_any_typography(
    reply: str, must: tuple[str, ...], must_not: tuple[str, ...], faults: int
) -> None:
    assert len(find_faults(reply, must, must_not)) == faults


@settings(max_examples=40, deadline=None)
@given(LINE, LINE)
def test_reply_equal_to_a_phrase_matches(phrase: str, other: str) -> None:
    phrase = phrase.replace("|", " ")
    assert find_faults(f"{other} {phrase} {other}", (phrase,), ()) == []
    assert find_faults(f"{other} {phrase} {other}", (), (phrase,)) != []
