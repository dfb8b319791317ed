"""What a question asks for: a time, an order, several things, or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

import theanine
from theanine import History, Transcript, UserMemory, Utterance
from theanine.recall.asking_part import asking_part, without_frame, without_pasted
from theanine.recall.understand import MAX_QUERY, cut_query

NOW = datetime(2025, 6, 20, 18, tzinfo=UTC)
DAYS = [
    date(2023, 7, 2),
    date(2024, 3, 18),
    date(2025, 5, 10),
    date(2025, 6, 17),
    date(2025, 6, 19),
]


@pytest.fixture(scope="module")
def ana(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UserMemory]:
    place = tmp_path_factory.mktemp("times") / "m.db"
    with theanine.open(str(place), clock=lambda: NOW) as client:
        user = client.user("ana", name="Ana")
        transcripts: list[Transcript] = []
        for number, day in enumerate(DAYS):
            at = datetime(day.year, day.month, day.day, 9, tzinfo=UTC)
            words = f"The {['heron', 'kettle', 'ladder', 'violin', 'bridge'][number]} was there."
            turns = [
                Utterance(text=words, speaker="Ana", at=at),
                Utterance(
                    text="I see.", speaker="A", role="assistant", at=at + timedelta(minutes=1)
                ),
            ]
            transcripts.append(Transcript(key=str(day), at=at, turns=turns))
        user.log(History(name="Ana", transcripts=transcripts))
        yield user


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("What did I say yesterday?", DAYS[4:]),
        ("What happened three days ago?", DAYS[3:4]),
        ("What did we talk about this week?", DAYS[3:]),
        ("What happened last month?", DAYS[2:3]),
        ("What happened in March 2024?", DAYS[1:2]),
        ("What did I tell you in 2023?", DAYS[:1]),
        ("What did we talk about last?", DAYS[4:]),
        ("Where did we leave off?", DAYS[4:]),
        ("What was the first thing I said?", DAYS[:1]),
        ("What was our latest conversation about?", DAYS[4:]),
        ("So what was the last thing we talked about", DAYS[4:]),
        ("March 2024 in short, please", DAYS[1:2]),
        ("June 17th, 2025: remind me, please.", DAYS[3:4]),
        ("Anything from 10 May?", DAYS[2:3]),
        ("What happened on 18 June?", []),
        ("What did I say in April 2024?", []),
        ("What happened the day before yesterday?", []),
    ],
)
def test_a_time_alone(ana: UserMemory, question: str, days: list[date]) -> None:
    found = ana.recall(question)
    assert [*dict.fromkeys(turn.at.date() for turn in found.source_turns)] == days


def test_a_time_and_a_matter(ana: UserMemory) -> None:
    assert "heron" in ana.recall("What did the heron do in 2023?").text
    assert "heron" not in ana.recall("What did the heron do in 2025?").text


def test_something_of_the_last_talk(ana: UserMemory) -> None:
    assert "bridge" in ana.recall("When we spoke last, what was there?", limit=1).text
    assert "bridge" in ana.recall("Where was the heron in our last conversation?").text


@pytest.mark.parametrize(
    "opening", ["Good evening! One thing before we end today:", "Today I ask:"]
)
def test_an_opening_names_no_time(ana: UserMemory, opening: str) -> None:
    assert "kettle" in ana.recall(f"{opening} was there a kettle?", limit=1).text


BESIDE = [
    "[2026-11-30 10:22] {}",
    "<time>2025-06-20T10:22:00+00:00</time>\n{}",
    "Time: 2025-06-20 10:22\nMessage: {}",
    "<@U02ABCDEF12> {}",
    "@bot_4711 {}",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUA {}",
    "I lost mine yesterday. {}",
    "I land with LH1402 at noon. {}",
    "{} (app v2.13.7)",
    "{} It's for https://example.org/tickets/98765",
    "{} My guests come on Friday.",
    "{}\n--\nAna Kos\nTel. +385 91 555 1234",
]


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("thing", ["kettle", "ladder"])
def test_what_stands_beside_a_question_is_not_asked(
    ana: UserMemory, beside: str, thing: str
) -> None:
    assert thing in ana.recall(beside.format(f"Was the old {thing} in town?"), limit=1).text


LETTER = """Dear Ms Novak,

we confirm that the workshop room is reserved for your group on 30 June from 9 to 13. Please order
catering five working days ahead. Could you send us the number of guests?

With kind regards
E. Maurer, Seminarhaus am See"""
TRACEBACK = """Traceback (most recent call last):
  File "worker.py", line 88, in run
    job.execute(payload)
  File "export.py", line 63, in fetch
    yield decode(row)
UnicodeDecodeError: 'utf-8' codec can't decode byte 0xe9 in position 14"""
TABLE = "name;qty;price\nbrass screw;200;0.04\nwasher M6;500;0.01\nrope 8mm;30;1.20"
DOCUMENTS = {"letter": LETTER, "traceback": TRACEBACK, "table": TABLE}
AROUND = [
    "{document}\n\nnever mind this. {question}",
    "{question}\n{document}",
    "Before I forget: {question} This came in today:\n\n{document}",
    "```\n{document}\n```\nI'll look at it later. But tell me, {question}",
]


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("around", AROUND)
def test_a_document_beside_a_question_is_not_asked(
    ana: UserMemory, document: str, around: str
) -> None:
    asked = around.format(document=DOCUMENTS[document], question="was the old kettle in town?")
    assert "kettle" in ana.recall(asked, limit=1).text


@pytest.mark.parametrize("document", DOCUMENTS.values())
def test_a_question_about_a_document_asks_with_it(document: str) -> None:
    for question in ("What should I answer to this?", "Is it long?"):
        assert without_pasted(f"{document}\n\n{question}") == f"{document}\n\n{question}"


TOLD = "Klara turns 40 on Sunday. She has a bike, two cats and every book on ships that I know of. "


@pytest.mark.parametrize("told", [TOLD * 3, "\n".join(TOLD.split(". "))])
@pytest.mark.parametrize(
    "end",
    [
        "What should I buy?",
        "Any help would be great, thanks!",
        "Thoughts?",
        "Do you know?",
        "Kannst du das zusammenfassen?",
        "¿Qué respondo a esto?",
        "Tu peux résumer ce texte ?",
        "What a day!",
    ],
)
def test_a_message_without_another_matter_asks_as_a_whole(told: str, end: str) -> None:
    for text in (f"{told}\n{end}", f"{end}\n{told}"):
        assert without_pasted(text) == text


STORIES = {
    "What clothes should we pack?": "We go to Split on Friday, and my sister Klara comes, too. ",
    "Welche Kleider packen wir ein?": "Am Freitag fahre ich nach Split, und Klara kommt mit. ",
    "¿Qué ropa llevamos de viaje?": "El viernes voy a Split y mi hermana Klara viene también. ",
}


@pytest.mark.parametrize("question", STORIES)
def test_what_the_asker_tells_is_no_document(question: str) -> None:
    text = f"{STORIES[question] * 5}\n{question}"
    assert without_pasted(text) == text
    assert without_pasted(f"{LETTER}\n{question}") == question


@pytest.mark.parametrize(
    "text",
    [
        "Where is the old kettle?\nWho has the ladder?\nWhen does the ferry leave?\nWhat is due?",
        "Name: Ana Kos\nStreet: Quay 5\nCity: Split\nBorn: 1990\nPlease keep this.",
        "When we moved to Zagreb,\nthe cat ran off\nand the kettle broke\nand it rained.",
    ],
)
def test_no_line_of_a_list_asks_alone(text: str) -> None:
    assert without_pasted(text) == text


def test_a_line_of_signs_is_read_at_once() -> None:
    text = "?," * 100_000 + "a\n" + "b " * 400
    assert without_pasted(text) == text


@pytest.mark.parametrize("said", ["His is on 3 May.", "Order 4471 is here."])
@pytest.mark.parametrize("question", ["And hers?", "And Klara's?", "What about Bo?"])
def test_a_short_question_asks_of_nothing_that_was_told(said: str, question: str) -> None:
    assert asking_part(f"{said} {question}") == question
    asked = f"{said.rstrip('.')}? {question}"
    assert asking_part(asked) == asked
    further = f"{said} And where did we stay then?"
    assert asking_part(further) == further


def test_a_line_of_dashes_before_a_question_is_no_signature() -> None:
    assert without_frame("My list:\n--\nWhere is the kettle?").endswith("kettle?")
    assert without_frame("Where is it?\n--\nAna Kos") == "Where is it?"
    assert without_frame("@bot") == "@bot"


def test_a_question_that_refers_to_the_sentence_before_asks_with_it() -> None:
    text = "We were in Iceland in July 2024. What died there?"
    assert asking_part(text) == text
    assert asking_part("I land with LH1402. Where is my spare key?") == "Where is my spare key?"


@pytest.mark.parametrize("year", [1945, 1990, 2019])
def test_a_time_before_all_that_was_said_tells_what_a_thing_is(tmp_path: Path, year: int) -> None:
    with theanine.open(tmp_path / "m.db", clock=lambda: NOW) as client:
        user = client.user("ana")
        user.add(f"Ships built before {year} pay double fees in this harbor.")
        assert "double" in user.recall(f"What do ships built before {year} pay?").text
        assert not user.recall(f"What did I say before {year}?").parts


def test_what_is_wanted_today_was_not_said_today(ana: UserMemory) -> None:
    assert "kettle" in ana.recall("I feel like buying a kettle tonight, or a pan?", limit=1).text


@pytest.mark.parametrize("holiday", ["Easter", "Christmas", "Halloween"])
def test_what_is_told_of_a_holiday_later_counts(tmp_path: Path, holiday: str) -> None:
    with theanine.open(tmp_path / "m.db", clock=lambda: NOW) as client:
        user = client.user("ana")
        user.add(f"We sailed to Vis for {holiday}.", at=datetime(2023, 11, 20, tzinfo=UTC))
        user.add("The kettle is broken.", at=datetime(2025, 4, 19, tzinfo=UTC))
        assert "Vis" in user.recall(f"Where did we go for {holiday}?", limit=1).text


def test_a_document_is_cut_to_what_it_asks() -> None:
    prose = "The rope was too short for the pier, and nobody had painted the railing. "
    text = prose * 4_000 + "So: which number opens the safe?"
    assert cut_query(text) == "So: which number opens the safe?"
    assert len(cut_query(prose * 4_000)) <= MAX_QUERY + 5
    assert cut_query("Which number?") == "Which number?"


@pytest.mark.parametrize(
    "question",
    [
        "got a {} to mend Tuesday, tips?",
        "I've got a {} to fix on Tuesday, anything I should know?",
        "My wife wants the {} on Tuesday, is that fine?",
        "We need the {} on Tuesday. Ideas?",
    ],
)
@pytest.mark.parametrize("thing", ["heron", "kettle", "ladder"])
def test_the_next_weekday_is_no_past_one(ana: UserMemory, question: str, thing: str) -> None:
    assert thing in ana.recall(question.format(thing)).text


@pytest.mark.parametrize("said", [date(2025, 1, 25), date(2024, 12, 30), date(2024, 11, 2)])
def test_a_month_that_was_named_later_or_earlier_counts(tmp_path: Path, said: date) -> None:
    at = datetime(said.year, said.month, said.day, tzinfo=UTC)
    with theanine.open(tmp_path / "m.db", clock=lambda: NOW) as client:
        user = client.user("ana")
        exam = Utterance(text="The exam in December is worth two credits.", speaker="ana", at=at)
        user.log(History(name="ana", transcripts=[Transcript(key="a", at=at, turns=[exam])]))
        assert "two credits" in user.recall("What was the exam in December worth?").text
        assert not user.recall("What was the exam in March worth?").parts


@pytest.mark.parametrize(
    "question",
    ["What have I said to Marko on Monday?", "Have I talked to Marko on Monday?"],
)
def test_what_has_been_said_is_past(ana: UserMemory, question: str) -> None:
    found = ana.recall(question).source_turns  # of the days around Monday, 16 June
    assert all(turn.at.date() >= date(2025, 6, 15) for turn in found)


@pytest.mark.parametrize("year", [2022, 2024])
@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ("The conference in October was about beekeeping.", "the conference in October {}"),
        ("On 10 October we hiked up the Triglav.", "the Triglav on 10 October {}"),
    ],
)
def test_a_month_is_that_of_its_year(tmp_path: Path, told: str, asked: str, year: int) -> None:
    at = datetime(2023, 10, 20, tzinfo=UTC)
    with theanine.open(tmp_path / "m.db", clock=lambda: NOW) as client:
        user = client.user("ana")
        turns = [Utterance(text=told, speaker="ana", at=at)]
        user.log(History(name="ana", transcripts=[Transcript(key="a", at=at, turns=turns)]))
        assert told in user.recall(f"What about {asked.format(2023)}?").text
        assert not user.recall(f"What about {asked.format(year)}?").parts
