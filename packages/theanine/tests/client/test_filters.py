"""Filters by metadata: what they mean, and that recall keeps within them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import theanine
from theanine.errors import SettingsError
from theanine.filters import Filter, read_where
from theanine.methods.registry import names
from theanine.types import History, Metadata, Scalar, Transcript, Utterance

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
SCALARS: st.SearchStrategy[Scalar] = st.sampled_from(
    [None, True, False, 0, 1, 2, 0.5, 1.0, "", "1", "app", "web"]
)
ORDERED = st.sampled_from([0, 1, 2, 0.5, "", "1", "web"])
UNEQUAL = SCALARS | st.lists(SCALARS, min_size=1, max_size=2)
COMPARISONS = st.fixed_dictionaries(
    {}, optional={"<": ORDERED, "<=": ORDERED, ">": ORDERED, ">=": ORDERED, "!=": UNEQUAL}
)
WANTED: st.SearchStrategy[object] = st.one_of(
    SCALARS, st.lists(SCALARS, min_size=1, max_size=3), COMPARISONS.filter(bool)
)
CONDITIONS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {}, optional={"channel": WANTED, "topic": WANTED}
)


def joined(filters: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(filters.filter(bool), min_size=1)
    return st.fixed_dictionaries({}, optional={"or": several, "and": several})


WHERE: st.SearchStrategy[Any] = st.recursive(CONDITIONS, joined, max_leaves=6)
METADATA = st.fixed_dictionaries({}, optional={"channel": SCALARS, "topic": SCALARS})


def kind(value: Scalar) -> str:
    if isinstance(value, bool):
        return "bool"
    return "number" if isinstance(value, (int, float)) else type(value).__name__


def same(one: Scalar, other: Scalar) -> bool:
    return kind(one) == kind(other) and one == other


def several(wanted: Any) -> list[Scalar]:
    return cast("list[Scalar]", wanted) if isinstance(wanted, list) else [wanted]


def ordered(sign: str, one: Any, other: Any) -> bool:
    if kind(one) != kind(other):
        return False
    return bool(
        (sign == "<" and one < other)
        or (sign == "<=" and one <= other)
        or (sign == ">" and one > other)
        or (sign == ">=" and one >= other)
    )


def expected(where: Mapping[str, Any], metadata: Metadata) -> bool:
    """The reference: what the documents say, read literally."""
    return all(holds(key, wanted, metadata) for key, wanted in where.items())


def holds(key: str, wanted: Any, metadata: Metadata) -> bool:
    if key in ("or", "and"):
        return {"or": any, "and": all}[key](expected(each, metadata) for each in wanted)
    value = metadata.get(key)
    if not isinstance(wanted, dict):
        return any(same(value, other) for other in several(wanted))
    for sign, bound in cast("dict[str, Any]", wanted).items():
        if value is None:
            return False
        if sign == "!=":
            if any(same(value, other) for other in several(bound)):
                return False
        elif not ordered(sign, value, bound):
            return False
    return True


@given(where=WHERE, metadata=METADATA)
@settings(max_examples=500)
def test_a_filter_means_what_the_documents_say(where: Any, metadata: Metadata) -> None:
    assert Filter.parse(where).matches(metadata) == expected(where, metadata)
    assert Filter.parse(json.dumps(where)).matches(metadata) == expected(where, metadata)


def in_words(conditions: Mapping[str, Any]) -> str:
    """Return conditions as a text."""
    written: list[str] = []
    for key, wanted in conditions.items():
        comparisons = cast("dict[str, Any]", wanted if isinstance(wanted, dict) else {"=": wanted})
        for sign, values in comparisons.items():
            written.append(f"{key}{sign}{','.join(map(json.dumps, several(values)))}")
    return " and ".join(written)


@given(alternatives=st.lists(CONDITIONS.filter(bool), min_size=1, max_size=3), metadata=METADATA)
@settings(max_examples=300)
def test_a_filter_in_words_means_the_same(alternatives: Any, metadata: Metadata) -> None:
    text = " or ".join(map(in_words, alternatives))
    assert Filter.parse(text).matches(metadata) == expected({"or": alternatives}, metadata)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("channel=web", {"channel": "web"}),
        ("topic=food, ships", {"topic": ["food", "ships"]}),
        ("n >= 2", {"n": {">=": 2}}),
        ("my key!=a,b", {"my key": {"!=": ["a", "b"]}}),
        ("done=true and by=null", {"and": [{"done": True}, {"by": None}]}),
        ('title="war, or peace" OR n=1', {"or": [{"title": "war, or peace"}, {"n": 1}]}),
        ("brand=Mandor and n=[1]", {"and": [{"brand": "Mandor"}, {"n": "[1]"}]}),
        ('a=say "no"', {"a": 'say "no"'}),
        ("a=NaN", {"a": "NaN"}),
        ("a=", {"a": ""}),
        ("a= and b=1", {"and": [{"a": ""}, {"b": 1}]}),
        ('topic=food, "ships, boats"', {"topic": ["food", "ships, boats"]}),
        ('topic= "ships, boats" , food', {"topic": ["ships, boats", "food"]}),
        ('a="(x)", "==y" and b="1 && 2"', {"and": [{"a": ["(x)", "==y"]}, {"b": "1 && 2"}]}),
        ('a="",b', {"a": ["", "b"]}),
        ("city=Paris (France)", {"city": "Paris (France)"}),
        ("hash=YWI=", {"hash": "YWI="}),
        ("links=http://a,http://b?c=d", {"links": ["http://a", "http://b?c=d"]}),
        ("not = 1 and note=2", {"and": [{"not": 1}, {"note": 2}]}),
    ],
)
def test_a_filter_in_words_is_read(text: str, where: Mapping[str, Any]) -> None:
    assert read_where(text) == where


@given(st.lists(st.text(), min_size=1), st.sampled_from([",", ", ", " ,", " , "]))
def test_values_in_quotation_marks_are_free(values: list[str], comma: str) -> None:
    text = f"a={comma.join(map(json.dumps, values))} and b=1"
    read = values if len(values) > 1 else values[0]
    assert read_where(text) == {"and": [{"a": read}, {"b": 1}]}


@given(
    st.lists(CONDITIONS.filter(bool), min_size=1, max_size=3).map(lambda all: map(in_words, all))
)
def test_other_ways_to_join_are_refused_and_not_misread(written: Any) -> None:
    text = " or ".join(written)
    for odd in (
        *(f"({text})", f"not {text}", f"NOT ({text})", f"n=1 and ({text})", f"n=x or ({text})"),
        *(f"n=1 and not {text}", f"n=1 && {text}", f"n=1 || {text}", f"{text},", f"n=1, {text}"),
        *(f"n=={text}", f"n=>{text}", f"n<>{text}", f'"n"=1 and {text}', f"n=x) and {text}"),
        *(f"n=x,,y and {text}", f"n=,x and {text}", f"n=x, and {text}", f"n=x,and {text}"),
    ):
        with pytest.raises(SettingsError, match="where: "):
            read_where(odd)


def test_the_example_in_an_error_is_the_filter_that_it_seems() -> None:
    with pytest.raises(SettingsError) as raised:
        read_where("channel")
    example = "channel=web and topic=food,ships and priority>=2"
    assert f"such as {example};" in str(raised.value)
    metadata: Metadata = {"channel": "web", "topic": "ships", "priority": 2}
    assert Filter.parse(example).matches(metadata)
    assert not any(Filter.parse(example).matches(metadata | {key: None}) for key in metadata)


def nested(depth: int) -> Mapping[str, Any]:
    """Return a filter within so many others."""
    return {"or": [nested(depth - 1)]} if depth else {"n": 1}


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ([{"channel": "web"}], "where must be a string, a mapping or None, not list"),
        ({"or": [{"n": 1}, 2]}, "where['or'][1] must be a mapping"),
        ({"or": [{"n": {"=>": 1}}]}, "where['or'][0]['n'] has the comparison"),
        ({"or": [{"n": 1}, {}]}, "where['or'] has an empty filter"),
        ({"or": []}, "where['or'] is an empty list"),
        ({"$or": [{"n": 1}]}, "where['$or'] has filters in a list, as only 'or' and 'and' have"),
        (nested(25), "where has filters within filters, more than 20 deep"),
        ("", "where: '' is no condition; write NAME=VALUE, such as channel=web"),
        ("channel", "'channel' is no condition"),
        ("title=war and peace", "'peace' is no condition"),
        ("title=war or peace and n=1", "'peace and n=1' is no condition"),
        ("n=1 or", "'' is no condition"),
        ('n="1', "'\"1' is no condition"),
        ("c=3 and (a=1 or b=2)", "'(a=1 or b=2)' is no condition"),
        ("a=(1 or b=2)", "'a=(1 or b=2)' is no condition"),
        ("not a=1", "'not a=1' is no condition"),
        ("channel=web,", "'channel=web,' is no condition"),
        ("a=1, my-key>=2", "'my-key>=2' follows a comma, which separates values; write `and`"),
        ("n>1,2", "where['n']['>'] must be one number or string"),
        ('{"n": 1', "is no JSON such as"),
        ({3: "web"}, "strings as keys"),
        ({"channel": []}, "where['channel'] is an empty list"),
        ({"channel": {}}, "where['channel'] has no comparison; it takes <, <=, >, >=, !="),
        ({"n": {"=>": 2}}, "it takes <, <=, >, >=, !=; did you mean"),
        ({"n": {"between": 2}}, "has the comparison 'between'"),
        ({"n": {">": [1, 2]}}, "where['n']['>'] must be one number or string"),
        ({"n": {">": True}}, "must be one number or string, not True"),
        ({"n": {">": None}}, "must be one number or string, not None"),
        ({"n": float("inf")}, "where['n'] is inf"),
        ({"at": START}, "write times with isoformat(), or use since= and until="),
        ({"n": {"!=": {"a": 1}}}, "where['n']['!='] must be a string, number"),
        ({"n": [["nested"]]}, "where['n'] must be a string, number"),
    ],
)
def test_a_filter_without_a_meaning_is_refused(where: Any, message: str, tmp_path: Path) -> None:
    with theanine.open(str(tmp_path / "m.db")) as client, pytest.raises(SettingsError) as raised:
        client.user("ana").recall("Anything?", where=where)
    assert message in str(raised.value)


def log_goats(
    client: theanine.Client, metadata: list[Metadata], *, session: Metadata | None = None
) -> None:
    client.user("ana").log(
        History(
            name="ana",
            transcripts=[
                Transcript(
                    key=f"s{number}",
                    at=START + timedelta(days=number),
                    turns=[
                        Utterance(
                            text=f"Goat number {number} of my herd is called Bella{number}.",
                            speaker="ana",
                            at=START + timedelta(days=number),
                            metadata=own,
                        )
                    ],
                    metadata=session or {},
                )
                for number, own in enumerate(metadata)
            ],
        )
    )


@pytest.mark.slow
@given(metadata=st.lists(METADATA, min_size=1, max_size=8), where=WHERE, remember=st.booleans())
@settings(max_examples=25, deadline=None)
def test_recall_finds_all_that_matches_and_nothing_else(
    metadata: list[Metadata], where: Any, *, remember: bool
) -> None:
    with TemporaryDirectory() as folder, theanine.open(f"{folder}/m.db") as client:
        log_goats(client, metadata)
        if remember:
            client.remember()
        found = client.user("ana").recall("Which goats are there?", budget=10_000, where=where)
        matching = [number for number, own in enumerate(metadata, 1) if expected(where, own)]
        assert [turn.id for turn in found.source_turns] == matching


@pytest.mark.slow
@pytest.mark.parametrize("method", sorted({*names()} - {"no-memory"}))
def test_every_method_keeps_within_a_filter(method: str, tmp_path: Path) -> None:
    metadata: list[Metadata] = [
        {"channel": channel, "level": level}
        for channel, level in product(["web", "app", "mail"], [1, 2])
    ]
    with theanine.open(str(tmp_path / "m.db"), method=method) as client:
        log_goats(client, metadata)
        client.remember()
        ana = client.user("ana")
        assert ana.recall("Which goats are there?", budget=10_000)
        for where in ({"channel": "web"}, {"channel": ["web", "app"], "level": {">=": 2}}):
            found = ana.recall("Which goats are there?", budget=10_000, where=where)
            assert all(expected(where, turn.metadata) for turn in found.source_turns)
            assert all(expected(where, memory.metadata) for memory in found.memories)
        assert not ana.recall("Which goats are there?", where={"channel": "radio"})


def test_a_filter_sees_turns_of_open_sessions_and_of_other_processes(tmp_path: Path) -> None:
    path = str(tmp_path / "m.db")
    with theanine.open(path) as client, theanine.open(path) as other:
        log_goats(client, [{}, {}], session={"channel": "web"})
        ana = client.user("ana")
        question, where = "Which goats are there?", {"channel": "web"}
        assert len(ana.recall(question, where=where).source_turns) == 2
        log_goats(other, [{}, {}, {}], session={"channel": "web"})
        assert len(ana.recall(question, where=where).source_turns) == 3
        assert not ana.recall(question, where={"channel": {"!=": "web"}})


def test_a_filter_and_bounds_of_time_hold_together(tmp_path: Path) -> None:
    with theanine.open(str(tmp_path / "m.db")) as client:
        log_goats(client, [{"channel": "web"}, {"channel": "app"}, {"channel": "web"}])
        found = client.user("ana").recall(
            "Which goats are there?", where={"channel": "web"}, since=START + timedelta(days=1)
        )
        assert [turn.id for turn in found.source_turns] == [3]


def test_writing_to_returned_metadata_changes_no_other_recollection(tmp_path: Path) -> None:
    with theanine.open(tmp_path / "memory.db") as client:
        ana = client.user("ana")
        ana.session("a", metadata={"channel": "web"}).add("My boat is called Galeb.")
        for _ in range(2):
            found = ana.recall("What is my boat called?")
            entries = [*found.source_turns, *found.memories]
            assert entries
            assert [dict(each.metadata) for each in entries] == [{"channel": "web"}] * len(entries)
            for each in entries:
                cast("dict[str, str]", each.metadata)["channel"] = "phone"
