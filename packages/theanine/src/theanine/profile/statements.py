"""What people state of themselves: their own present claims, by area, told by their wording.

The wording is data (``frames.toml``), by language. In doubt a sentence is no statement: a profile
that says something wrong is worse than one that lacks something.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from theanine.lazy_pattern import lazy_pattern
from theanine.recall.claims import tells_change, tells_plan
from theanine.retrieval.kinds import things_of
from theanine.retrieval.languages import Language, guess_language
from theanine.retrieval.lexical import tokenize
from theanine.retrieval.query import is_standing_instruction
from theanine.sentences import Span, sentence_spans
from theanine.text.cues import normal
from theanine.types import Turn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PASTED = 2_000
"""Characters of a turn beyond which it is taken for a text that somebody else may have written."""
LONGEST = 700
"""Characters of the longest sentence that is a statement."""
_MORE_THINGS = frozenset(
    "car boat garden allotment hive hen chicken camper caravan cottage flat house teapot "
    "paperweight stamp record vinyl cello tractor loom kiln telescope camera".split()
)
SHORT = 160
"""Characters of a longer sentence that are shown, from the clause on that states something."""
_CODE = lazy_pattern(r"```.*?(?:```|\Z)|^[ \t]*>.*$", re.DOTALL | re.MULTILINE)
_QUOTED = lazy_pattern(r"“[^”]*”|\"[^\"]*\"|«[^»]*»|„[^“”]*[“”]|‘[^’]*’(?!\w)")
_QUESTION = lazy_pattern(r"[?？؟][\"'”’)\]」』]*\s*$")
_MASK = "\x00"
_SPACE = lazy_pattern(r"\s")
LEAD = 60
"""Characters that a sentence may have before the clause that states something, to be shown too."""
_CLAUSE = lazy_pattern(
    r"[;:–—]\s+|,\s+(?:(?:and|but|so|because|since|und|aber|y|pero|et|mais) )?|"
    r"\s+(?:and|but|because|so|und|aber|weil|y|pero|et|mais|parce que)\s+(?=(?:i|i'm|i've|my|we|"
    r"we're|our|ich|wir|mein\w*|mi|tengo|vivo|soy|je|j'\w+|mon|ma|nous)\b)"
)
"""Where a clause begins that may state something else."""
_WISH = lazy_pattern(r"\b(?:rather|prefer)\b")
_OF_ASSISTANT = lazy_pattern(r"\b(?:you|your|answers?|repl(?:y|ies)|responses?|explanations?)\b")
_TAIL = lazy_pattern(r"[\s,;:–—]+(?:(?:and|but|so|because|und|aber|weil|y|pero|et|mais)\W*)?$")
_LEFT = ("work", "likes")
"""Areas of what one leaves: a job, a club."""
_LEADING = 4
"""Words that a clause may have before those that tell what it states, at most."""
_RULE_LEAD = r"^\W*(?:(?:hey|hi|hello|ok(?:ay)?|so|and|also|bitte|theo|assistant)[,!]? )*"
_ONE_OFF = lazy_pattern(
    r"\b(?:this(?! (?:repo|project|codebase))|that|these|those|here|(?<!from )now|today|"
    r"tonight|tomorrow|above|below|attached|again|mind|worry|laugh|ask me|"
    r"tell (?:anyone|anybody|him|her|them)|forget)\b|:\s*\S"
)
"""Wording of requests about one thing, which are no rules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A sentence of a turn that states something about its speaker.

    Attributes:
        area: its key in ``theanine.profile.AREAS``.
        text: the speaker's own words.
        turn: where they stand, from the character ``start`` on.
        core: the clause that tells it, without what the words go on about.
        single: what the person has once only, such as ``residence``; empty otherwise.
        terms: the stems of its content words.
        vector: of its text, where the fitted model says so; None where the wording does.
    """

    area: str
    text: str
    turn: Turn
    start: int
    core: str
    single: str = ""
    terms: frozenset[str] = frozenset()
    vector: NDArray[np.float32] | None = field(default=None, compare=False, repr=False)

    @property
    def by_model(self) -> bool:
        """Whether the fitted model says so, not the wording."""
        return self.vector is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """A sentence of the user's by which something may have changed.

    Attributes:
        terms: the stems of its content words.
        denied: areas of what it denies, each with the stems of what it is denied of.
    """

    text: str
    turn: Turn
    terms: frozenset[str]
    denied: tuple[tuple[str, frozenset[str]], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTurn:
    """What a turn of the user's tells of the user.

    Attributes:
        masked: its text, with what isn't the user's own words masked.
        frames: the wording of its language.
        unread: sentences of which no wording says what they state, as spans.
    """

    turn: Turn
    masked: str
    frames: Frames
    statements: tuple[Statement, ...]
    endings: tuple[Ending, ...]
    unread: tuple[Span, ...] = ()

    @property
    def language(self) -> Language:
        """The language in which it was read."""
        return self.frames.language


def read_turn(turn: Turn) -> ReadTurn | None:
    """Return what a turn tells; None for one of another role, for a game or a pasted text."""
    frames = _frames(guess_language(turn.text)) if is_told(turn) else None
    if frames is None:
        return None
    masked = own_words(turn.text)
    statements: list[Statement] = []
    endings: list[Ending] = []
    unread: list[Span] = []
    for start, end in own_sentences(masked):
        sentence = masked[start:end]
        plain = normal(_SPACE.sub(" ", sentence))
        if len(plain) != len(sentence):
            continue
        clauses = frames.read(plain)
        for clause in clauses:
            text = " ".join(turn.text[start + clause.first : start + clause.last].split())
            core = turn.text[start + clause.start : start + clause.end]
            statements.append(
                Statement(
                    area=clause.area,
                    text=_TAIL.sub("", text),
                    turn=turn,
                    start=start + clause.start,
                    core=_TAIL.sub("", " ".join(core.split())),
                    single=clause.single,
                    terms=frozenset(tokenize(core)),
                )
            )
        denied = frames.denied(plain, sentence)
        if not clauses and not denied and not frames.is_hypothetical(plain):
            unread.append((start, end))
        if denied or tells_change(plain):
            text = " ".join(turn.text[start:end].split())
            terms = frozenset(tokenize(text))
            endings.append(Ending(text=text, turn=turn, terms=terms, denied=denied))
    return ReadTurn(
        turn=turn,
        masked=masked,
        frames=frames,
        statements=tuple(statements),
        endings=tuple(endings),
        unread=tuple(unread),
    )


def is_told(turn: Turn) -> bool:
    """Whether a turn may tell of its speaker: no other role's, no game and no pasted text."""
    return (
        turn.role == "user"
        and 0 < len(turn.text) <= PASTED
        and not _not_meant().search(normal(turn.text))
    )


def own_sentences(masked: str) -> Iterator[Span]:
    """Yield the spans of sentences that may state something: no questions, and none too long."""
    for start, end in sentence_spans(masked):
        if end - start <= LONGEST and not _QUESTION.search(masked[start:end]):
            yield start, end


def turn_order(turn: Turn) -> tuple[datetime, int]:
    """Return what sorts turns by time."""
    return turn.at, turn.id


def own_words(text: str) -> str:
    """Return a text with what is quoted and pasted in it masked, at the same positions."""
    for other in (_CODE, _QUOTED):
        text = other.sub(lambda match: _MASK * len(match[0]), text)
    return text


class Clause(NamedTuple):
    """A clause that states something, from ``start`` to ``end``; shown is ``first`` to ``last``."""

    first: int
    last: int
    start: int
    end: int
    area: str
    single: str


class Frames:
    """The wording of statements in one language, compiled; see ``frames.toml``."""

    def __init__(self, language: Language, section: Mapping[str, Any]) -> None:
        self.language: Language = language
        words = {
            "adverb": section["adverb"],
            "relation": _alternatives(section["relation"]),
            "job": "|".join(sorted(_jobs())),
            "illness": "|".join(sorted(_illnesses(section.get("temporary", "")))),
            "thing": "|".join(sorted(_things())),
            "tongue": "|".join(sorted(_tongues())),
            "weekday": section.get("weekday", ""),
            "order": _alternatives(section["rules"].get("order", "")),
        }
        self.relation, self.animal = words["relation"], section["animal"]
        self.possessive, self.called = section["possessive"], section["called"]
        self.other_name, self.place = section["other_name"], section["place"]
        self._hypothetical = re.compile(rf"(?<!\w)(?:{section['hypothetical']})(?!\w)")
        self._uncertain = re.compile(rf"(?<!\w)(?:{_alternatives(section['uncertain'])})(?!\w)")
        negation = section.get("negation")
        self._negation = re.compile(rf"(?<!\w)(?:{negation})(?!\w) ?") if negation else None
        self._left = _optional(section, "left", words)
        self._stays = _optional(section, "stays", words)
        self._rules = re.compile(f"{_RULE_LEAD}(?:{_expand(section['rules']['rules'], words)})")
        self._areas = {area: _frame(section["areas"], area, words) for area in section["areas"]}
        self._single = {name: _frame(section["single"], name, words) for name in section["single"]}

    def read(self, plain: str) -> list[Clause]:
        """Return what a sentence in lower case states.

        A sentence that states things of several areas is cut before the clause of each.
        """
        if self._is_rule(plain):
            whole = 0, len(plain)
            return [Clause(*whole, *whole, "rules", self.single(plain))]
        is_short = len(plain) <= SHORT
        found: list[Clause] = []
        starts = [0, *(match.end() for match in _CLAUSE.finditer(plain)), len(plain)]
        for number, (start, end) in enumerate(pairwise(starts)):
            text = plain[start:end]
            near = slice(starts[max(number - 1, 0)], starts[min(number + 2, len(starts) - 1)])
            if self.is_hypothetical(plain if is_short else plain[near]):
                continue
            area = self.area(text)
            if found and (found[-1].area == area or not area):
                follows = found[-1].last == start and (is_short or end - found[-1].first <= SHORT)
                if follows and (area or not self._uncertain.search(text)):  # on the same matter
                    single = found[-1].single or (self.single(text) if area else "")
                    found[-1] = found[-1]._replace(last=end, single=single)
            elif area:
                leads = (
                    is_short
                    and not found
                    and start <= LEAD
                    and not self._uncertain.search(plain[:start])
                )
                first = 0 if leads else start
                found.append(Clause(first, end, start, end, area, self.single(text)))
        return found

    def is_hypothetical(self, plain: str) -> bool:
        """Whether a sentence in lower case tells a condition, a wish or a dream."""
        return self._hypothetical.search(plain) is not None

    def _is_rule(self, plain: str) -> bool:
        if _ONE_OFF.search(plain):
            return False
        if self._rules.search(plain):
            return True
        if self.language != "en" or not is_standing_instruction(plain):
            return False
        return not _WISH.search(plain) or _OF_ASSISTANT.search(plain) is not None

    def area(self, clause: str) -> str:
        """Return the area of a clause in lower case; empty for no statement of what holds."""
        if self._uncertain.search(clause):
            return ""
        if self._stays and self._stays.search(clause):
            return "likes"
        for area, frame in self._areas.items():
            match = frame.search(clause)
            if match and len(clause[: match.start()].split()) <= _LEADING:
                return "" if area != "plans" and tells_plan(clause) else area
        return ""

    def denied(self, plain: str, sentence: str) -> tuple[tuple[str, frozenset[str]], ...]:
        """Return what a sentence denies or ends: its area, and the stems of what follows.

        ``plain`` is the sentence in lower case without accents.
        """
        if self._left and (left := self._left.search(plain)):
            terms = frozenset(tokenize(sentence[left.end() :]))
            return tuple((area, terms) for area in _LEFT)
        if self._negation is None or not self._negation.search(plain):
            return ()
        affirmed = self._negation.sub("", plain)
        return tuple(
            (area, frozenset(tokenize(affirmed[match.end() :])))
            for area, frame in self._areas.items()
            if (match := frame.search(affirmed)) and not frame.search(plain)
        )

    def single(self, clause: str) -> str:
        """Return what a clause names that one has once only; empty for nothing."""
        return next((name for name, frame in self._single.items() if frame.search(clause)), "")


@cache
def _sections() -> dict[str, Any]:
    return tomllib.loads((files("theanine.profile") / "frames.toml").read_text("utf-8"))


@cache
def _not_meant() -> re.Pattern[str]:
    """Return what shows in any language that a text is a joke, a game or an example."""
    cues = (_alternatives(section["not_meant"]) for section in _sections().values())
    return re.compile("|".join(cues))


@cache
def _frames(language: Language) -> Frames | None:
    """Return the frames of a language; None for one without any."""
    section = _sections().get(language)
    return None if section is None else Frames(language, section)


def _alternatives(lines: str) -> str:
    return "|".join(filter(None, (line.removesuffix("|") for line in lines.split("\n"))))


def _expand(lines: str, words: Mapping[str, str]) -> str:
    text = _alternatives(lines)
    for name, value in words.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _frame(section: Mapping[str, str], name: str, words: Mapping[str, str]) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w'])(?:{_expand(section[name], words)})")


def _optional(
    section: Mapping[str, str], name: str, words: Mapping[str, str]
) -> re.Pattern[str] | None:
    return _frame(section, name, words) if name in section else None


def _jobs() -> frozenset[str]:
    not_jobs = {"works", "worked", "job", "office", "company", "teaches", "sales", "freelance"}
    return things_of("job") - not_jobs | {"student", "apprentice", "pensioner", "postman"}


def _illnesses(temporary: str) -> frozenset[str]:
    return things_of("illness", "allergy") - {*temporary.split()} - {"allergic", "intolerant"}


def _tongues() -> frozenset[str]:
    return things_of("language") - {"bilingual"} | {
        "bosnian",
        "catalan",
        "croatian",
        "czech",
        "hungarian",
        "romanian",
        "serbian",
        "slovenian",
    }


def _things() -> frozenset[str]:
    found = things_of("car", "bike", "pet", "instrument", "computer", "breed")
    return found - {"mini", "seat", "tablet", "viola", "band", "choir", "orchestra"} | {
        "car",
        "boat",
        "garden",
        "hive",
    }
