"""Compose histories in which an attribute is told of one person and not of another.

    python tools/compose_attributes.py ATTRIBUTES.json … --histories N --seed N --out FILE.jsonl

An attribute has questions for it, statements that tell it, and statements beside it: of the same
topic, without telling it. ``near`` are the attributes of which a statement could be taken for one
of it, ``as`` the things that may have it. Each history is what one person tells an assistant of
four others, of a thing, and of himself or herself over some months. It asks for what was told, and
for what never was: an attribute of which only something beside it was said, one that was told of
somebody else alone, and one that nobody spoke of. The histories have the form of the corpus's
diaries.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

WOMEN = (
    *("Mia", "Irena", "Rosa", "Sunniva", "Nadia", "Leonie", "Aiko", "Marta", "Grace", "Petra"),
    *("Yara", "Odile", "Tamsin", "Divya", "Katya", "Ines", "Wanjiru", "Hanne", "Bea", "Luz"),
)
MEN = (
    *("Paul", "Theo", "Goran", "Mateo", "Ilya", "Kwame", "Jonas", "Rafi", "Emil", "Dario"),
    *("Tomas", "Hugo", "Anselm", "Idris", "Luca", "Bram", "Nikhil", "Piet", "Owen", "Sandro"),
)
RELATIONS = (
    *(("my sister", "my brother"), ("my aunt", "my uncle"), ("my cousin", "my cousin")),
    *(("our neighbor", "our neighbor"), ("my boss", "my boss"), ("my friend", "my friend")),
    *(("my flatmate", "my flatmate"), ("my colleague", "my colleague")),
    *(("my niece", "my nephew"), ("my mother-in-law", "my father-in-law"), ("", "")),
)
REPLIES = (
    *("Okay.", "Noted!", "Thanks, I'll remember.", "Good to know.", "Got it.", "Oh, lovely."),
    *("That sounds like a lot.", "Thanks for telling me.", "Understood.", "I see.", "Nice!"),
)
ATTRIBUTES, OTHERS, TOLD, BESIDE = 10, 4, 4, 3
"""Numbers of attributes and other people in a history, and for each person of the attributes that
are told, and of those of which only something beside is said."""
ASKED, NEVER = 10, 3
"""Questions for what was told, and of each kind for what was not."""


@dataclass(frozen=True)
class Subject:
    """A person or thing that a history tells of.

    Attributes:
        name: how it is first called, such as "my sister Mia"; empty for the user.
        short: how it is called later.
        pronouns: ``they``, ``their`` and ``them`` of it.
    """

    name: str
    short: str
    pronouns: tuple[str, str, str]

    def fill(self, text: str, *, short: bool) -> str:
        """Return a text with the name and the pronouns in it."""
        name = self.short if short else self.name
        they, their, them = self.pronouns
        values = {"who": name, "they": they, "their": their, "them": them}
        values |= {key.capitalize(): value[:1].upper() + value[1:] for key, value in values.items()}
        for key, value in values.items():
            text = text.replace(f"{{{key}}}", value)
        return text


USER = Subject("", "", ("I", "my", "me"))


Attribute = Mapping[str, Any]
Key = tuple[Subject, str]
"""Somebody, and the id of an attribute of theirs."""


@dataclass
class Said:
    """The statements of a history with their subjects, before they are put in order.

    Attributes:
        told: of each attribute that is told, the place of its statement in ``texts``.
        beside: the attributes of which only something beside is said.
    """

    texts: list[tuple[Subject, str]]
    told: dict[Key, int]
    beside: set[Key]


def compose(attributes: Sequence[Attribute], number: int, random: Random) -> dict[str, Any]:
    """Return a history with its questions."""
    user, *others = _people(random)
    chosen = random.sample(attributes, min(ATTRIBUTES, len(attributes)))
    things = sorted({name for each in chosen for name in each.get("as", ())})
    subjects = [USER, *others]
    for thing in random.sample(things, min(1, len(things))):
        subjects.append(Subject(thing, thing, ("it", "its", "it")))
    said = _say(subjects, chosen, random)
    order = random.sample(range(len(said.texts)), len(said.texts))
    turns, places = _turns([said.texts[at] for at in order], user.short, random)
    by_id = {each["id"]: each for each in attributes}
    questions: list[dict[str, Any]] = []
    for kind, keys in _askable(subjects, attributes, chosen, said).items():
        number_asked = ASKED if kind == "told" else NEVER
        for subject, attribute in random.sample(keys, min(number_asked, len(keys))):
            text = random.choice(_questions(by_id[attribute], subject))
            question = {"q": subject.fill(text, short=random.random() < 0.5)}
            if kind == "told":
                place = places[order.index(said.told[subject, attribute])]
                questions.append(question | {"form": "direct", "turns": [place]})
            else:
                questions.append(question | {"form": "never", "class": kind, "turns": []})
    return {
        "id": f"at-{number:03}",
        "language": "en",
        "user": user.short,
        "turns": turns,
        "questions": questions,
    }


def _say(subjects: Sequence[Subject], chosen: Sequence[Attribute], random: Random) -> Said:
    said = Said([], {}, set())
    used: set[str] = set()
    for subject in subjects:
        fitting = [each for each in chosen if _questions(each, subject)]
        order = random.sample(fitting, len(fitting))
        for place, attribute in enumerate(order[: TOLD + BESIDE]):
            is_told = place < TOLD
            texts = (_statements if is_told else _beside)(attribute, subject)
            if not (free := [text for text in texts if text not in used]):
                continue
            text = random.choice(free)
            used.add(text)
            key = (subject, attribute["id"])
            if is_told:
                said.told[key] = len(said.texts)
            else:
                said.beside.add(key)
            said.texts.append((subject, text))
    return said


def _askable(
    subjects: Sequence[Subject],
    attributes: Sequence[Attribute],
    chosen: Sequence[Attribute],
    said: Said,
) -> dict[str, list[Key]]:
    """Return what can be asked, by whether it was told and why not."""
    kinds: dict[str, list[Key]] = {
        "told": [*said.told],
        "beside": [],
        "somebody else": [],
        "absent": [],
    }
    known = {subject for subject, _ in said.told}
    told = {attribute for _, attribute in said.told}
    for subject, each in product([one for one in subjects if one in known], attributes):
        near = [(subject, other) for other in (each["id"], *each.get("near", ()))]
        if not _questions(each, subject) or not said.told.keys().isdisjoint(near):
            continue
        key = (subject, each["id"])
        if key in said.beside:
            kinds["beside"].append(key)
        elif each not in chosen:
            kinds["absent"].append(key)
        elif each["id"] in told:
            kinds["somebody else"].append(key)
    return kinds


def _people(random: Random) -> list[Subject]:
    names = [
        *((name, 0, ("she", "her", "her")) for name in WOMEN),
        *((name, 1, ("he", "his", "him")) for name in MEN),
    ]
    relations = random.sample(RELATIONS, OTHERS + 1)
    return [
        Subject(f"{relation[place]} {name}".strip(), name, pronouns)
        for (name, place, pronouns), relation in zip(
            random.sample(names, OTHERS + 1), relations, strict=True
        )
    ]


def _questions(attribute: Attribute, subject: Subject) -> Sequence[str]:
    """Return the questions for an attribute of somebody; none where it can't have it."""
    if subject is USER:
        return attribute["own_questions"]
    is_thing = subject.pronouns[0] == "it"
    fits = subject.name in attribute["as"] if attribute["of"] == "thing" else not is_thing
    return attribute["questions"] if fits else ()


def _statements(attribute: Attribute, subject: Subject) -> Sequence[str]:
    return attribute["own_statements" if subject is USER else "statements"]


def _beside(attribute: Attribute, subject: Subject) -> Sequence[str]:
    return () if subject is USER else attribute["beside"]


def _turns(
    said: Sequence[tuple[Subject, str]], user: str, random: Random
) -> tuple[list[dict[str, str]], list[int]]:
    """Return the turns, and the place of each statement among them."""
    turns: list[dict[str, str]] = []
    places: list[int] = []
    at = datetime(2025, 1, 1, 7, tzinfo=UTC) + timedelta(days=random.randrange(300))
    session, known = 0, set[Subject]()
    for subject, text in said:
        if not turns or random.random() < 0.2:
            session += 1
            at = at.replace(hour=random.randrange(7, 23)) + timedelta(days=random.randrange(2, 20))
        at += timedelta(minutes=random.randrange(1, 4))
        places.append(len(turns))
        words = subject.fill(text, short=subject in known and random.random() < 0.6)
        known.add(subject)
        spoken = [(user, "user", words)]
        if random.random() < 0.3:
            spoken.append(("Assistant", "assistant", random.choice(REPLIES)))
        for speaker, role, words in spoken:
            when = {"at": f"{at:%Y-%m-%dT%H:%M}", "session": str(session)}
            turns.append(when | {"speaker": speaker, "role": role, "text": words})
    return turns, places


def compose_all(paths: Sequence[Path], histories: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield histories that each use the attributes of one of the files."""
    sources = [json.loads(path.read_text()) for path in paths]
    for number in range(histories):
        yield compose(sources[number % len(sources)], number, Random(f"{seed}/{number}"))


def main() -> None:
    """Read the command line and write the histories."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attributes", type=Path, nargs="+")
    parser.add_argument("--histories", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    with options.out.open("w") as file:
        for history in compose_all(options.attributes, options.histories, options.seed):
            file.write(json.dumps(history, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
