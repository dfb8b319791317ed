"""Corrected answer keys: other answers than a data set's own, and rejected questions.

A key is an object of answers by question id, or a list or JSON Lines of entries. An entry names a
question by ``id`` or by its text (``question``, with ``conversation`` if several ask it) and gives
the right ``answer``; null rejects the question. The published audit of LoCoMo
(https://github.com/dial481/locomo-audit) is such a list: ``question_id`` is its own id,
``correct_answer`` the answer, and ``golden_answer`` the published one, which must equal the set's;
entries about evidence only (``error_type``) are skipped. Other questions keep their answers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from theanine.errors import BadInput
from theanine_bench.files import read_json
from theanine_bench.samples import Group, Sample, Stage

REJECTED = "questions that the answer key rejects"
PUBLISHED = "published"
"""Key in a sample's ``extra`` of the answer that was replaced."""
_ANSWERS = ("answer", "correct_answer")
_CONVERSATIONS = ("conversation", "sample_id")
_EVIDENCE_ONLY = "WRONG_CITATION"
_ANSWER_SPECIFIC = ("rubric", "ordered")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyQuestion:
    """A question of the data set, with its published answer."""

    id: str
    words: str
    conversation: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyEntry:
    """A key's entry about a question.

    Attributes:
        id: the question's id, or one of the key's own.
        words: the question's text; empty if the key has only ids.
        answer: the right answer; None rejects the question.
        published: the answer that the key corrects; None if unknown.
        where: the entry's place, for messages.
    """

    id: str
    words: str
    conversation: str
    answer: str | None
    published: str | None
    where: str


def read_answer_key(file: Path) -> list[KeyEntry]:
    """Read the entries of a key. Raises BadInput with the place of an invalid one."""
    document = read_json(file)
    if isinstance(document, dict) and not {"id", "question"} & document.keys():
        answers = cast("dict[str, Any]", document)
        rows = [_row(id, value) for id, value in answers.items()]
    else:
        rows = cast("list[Any]", document if isinstance(document, list) else [document])
    if not rows:
        raise BadInput("it holds no answer", str(file))
    entries = [_entry(row, f"{file}, entry {number}") for number, row in enumerate(rows, 1)]
    return [entry for entry in entries if entry is not None]


def apply_answer_key(groups: Sequence[Group], key: Iterable[KeyEntry]) -> list[Group]:
    """Return the groups with the key's answers, without rejected questions, which are counted.

    Raises BadInput for an entry that matches no question or several, or one with another published
    answer, and for two entries about the same question.
    """
    asked = [
        KeyQuestion(
            id=case.id,
            words=case.dialogue[-1].text,
            conversation=group.id,
            answer=case.reference,
        )
        for group in groups
        for case in group.samples
    ]
    answers = match_answers(asked, key)
    return [_group(group, answers) for group in groups]


def relevant_entries(asked: Iterable[KeyQuestion], key: Iterable[KeyEntry]) -> list[KeyEntry]:
    """Return the entries that name one of these questions, by id or text."""
    known = {name for one in asked for name in (one.id, _plain(one.words))}
    return [entry for entry in key if known & {entry.id, _plain(entry.words)}]


def match_answers(asked: Iterable[KeyQuestion], key: Iterable[KeyEntry]) -> dict[str, str | None]:
    """Return the answers by question id, None for rejected ones.

    Raises as :func:`apply_answer_key`.
    """
    ids: dict[str, KeyQuestion] = {}
    words: dict[str, list[KeyQuestion]] = defaultdict(list)
    for one in asked:
        ids[one.id] = one
        words[_plain(one.words)].append(one)
    found: dict[str, str | None] = {}
    for entry in key:
        one = ids.get(entry.id) or _by_words(entry, words.get(_plain(entry.words), []))
        if entry.published is not None and _plain(entry.published) != _plain(one.answer):
            raise BadInput(
                f"the key is of another version of the set: it says that {entry.published!r} is "
                f"published for {one.id}, which has {one.answer!r}",
                entry.where,
            )
        if one.id in found:
            raise BadInput(f"another entry is about {one.id} as well", entry.where)
        found[one.id] = entry.answer
    return found


def replace_answer(extra: Mapping[str, Any], published: str, answer: str) -> dict[str, Any]:
    """Return a sample's ``extra`` for a new answer: answerable, without rubric."""
    kept = {name: value for name, value in extra.items() if name not in _ANSWER_SPECIFIC}
    if "answerable" in kept:
        kept["answerable"] = True
    return {**kept, PUBLISHED: published}


def _row(id: str, value: object) -> object:
    return {**cast("dict[str, Any]", value), "id": id} if isinstance(value, dict) else {
        "id": id,
        "answer": value,
    }  # fmt: skip


def _entry(row: object, where: str) -> KeyEntry | None:
    """Parse an entry; None for one about a question's evidence only."""
    if not isinstance(row, dict):
        raise BadInput('an entry is an object with "id" or "question", and "answer"', where)
    fields = cast("dict[str, Any]", row)
    if fields.get("error_type") == _EVIDENCE_ONLY:
        return None
    name = next((field for field in _ANSWERS if field in fields), None)
    id, words = str(fields.get("id", fields.get("question_id", ""))), fields.get("question", "")
    if name is None or not (id or words):
        raise BadInput('an entry needs "id" or "question", and "answer" (null to reject)', where)
    answer, published = fields[name], fields.get("golden_answer")
    if isinstance(answer, dict | list) or not isinstance(words, str):
        raise BadInput('"question" is a text, and "answer" a text, a number or null', where)
    conversation = next((str(fields[one]) for one in _CONVERSATIONS if one in fields), "")
    return KeyEntry(
        id=id,
        words=words,
        conversation=conversation,
        answer=None if answer is None else str(answer).strip() or None,
        published=None if published is None else str(published),
        where=where,
    )


def _by_words(entry: KeyEntry, asked: Sequence[KeyQuestion]) -> KeyQuestion:
    """Return the question with the entry's text; conversation and published answer decide."""
    name = entry.id or entry.words
    if entry.conversation:
        asked = [one for one in asked if one.conversation == entry.conversation]
    if not asked:
        raise BadInput(f"{name!r} is no question of the set", entry.where)
    if len(asked) > 1 and entry.published is not None:
        asked = [one for one in asked if _plain(one.answer) == _plain(entry.published or "")]
    if len(asked) != 1:
        raise BadInput(
            f'{entry.words!r} is asked several times; give its "id" or its "conversation"',
            entry.where,
        )
    return asked[0]


def _group(group: Group, answers: Mapping[str, str | None]) -> Group:
    stages = [
        Stage(
            histories=stage.histories,
            samples=tuple(
                _case(case, answers)
                for case in stage.samples
                if answers.get(case.id, "") is not None
            ),
        )
        for stage in group.stages
    ]
    rejected = sum(case.id in answers and answers[case.id] is None for case in group.samples)
    dropped = {**group.dropped, **({REJECTED: rejected} if rejected else {})}
    return replace(group, stages=tuple(stages), dropped=dropped)


def _case(case: Sample, answers: Mapping[str, str | None]) -> Sample:
    answer = answers.get(case.id)
    if answer is None or answer == case.reference:
        return case
    extra = replace_answer(case.extra, case.reference, answer)
    return replace(case, reference=answer, extra=extra)


def _plain(text: str) -> str:
    """For comparing: without case and without what spaces there are."""
    return " ".join(text.casefold().split())
