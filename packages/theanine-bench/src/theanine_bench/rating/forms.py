"""The papers' rating forms: their questions about each task, and how answers are counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from theanine.errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A possible answer: its stored value and its displayed label."""

    value: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FormQuestion:
    """One question of a form.

    Attributes:
        id: the key under which answers are stored.
        counted: value → the label it counts as, to merge values such as degrees of agreement.
        undecided: the label of a task without a majority; None for "undecided".
        scale: whether the values are numbers to average.
    """

    id: str
    text: str
    choices: tuple[Choice, ...]
    counted: Mapping[str, str] = field(default_factory=dict[str, str])
    undecided: str | None = None
    scale: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingForm:
    """A rating form.

    Attributes:
        name: its id, as on the command line.
        guide: paragraphs of instructions for raters.
        runs: how many runs a task compares, 1 or 2.
        source: the paper's section.
    """

    name: str
    title: str
    guide: tuple[str, ...]
    questions: tuple[FormQuestion, ...]
    runs: int = 1
    source: str


_DEGREES = (
    Choice(value="definitely-disagree", label="Definitely disagree"),
    Choice(value="slightly-disagree", label="Slightly disagree"),
    Choice(value="slightly-agree", label="Slightly agree"),
    Choice(value="definitely-agree", label="Definitely agree"),
)
_SIDES = {
    "definitely-disagree": "disagree",
    "slightly-disagree": "disagree",
    "slightly-agree": "agree",
    "definitely-agree": "agree",
}
_POINTS = tuple(
    Choice(value=str(points), label=f"{points} {word}")
    for points, word in enumerate(("not at all", "a little", "mostly", "fully"))
)


def _agreement(id: str, text: str) -> FormQuestion:
    return FormQuestion(id=id, text=text, choices=_DEGREES, counted=_SIDES)


def _scale(id: str, text: str) -> FormQuestion:
    return FormQuestion(id=id, text=text, choices=_POINTS, scale=True)


_FAULTS = (
    Choice(value="no", label="No"),
    Choice(value="unclear", label="Can't judge"),
    Choice(value="yes", label="Yes"),
)
SUMMARIES = RatingForm(
    name="summaries",
    title="Are these memories of the session good?",
    guide=("You see a session, and the memories that were made of it.",),
    questions=(
        FormQuestion(
            id="faulty", text="Do the memories contain faulty statements?", choices=_FAULTS
        ),
        FormQuestion(
            id="missing", text="Do the memories miss important statements?", choices=_FAULTS
        ),
    ),
    source="Theanine (NAACL 2025), appendix I and table 4: sessions summarized into memories",
)
LINKING = RatingForm(
    name="linking",
    title="Is the link between these two memories right?",
    guide=(
        "You see two memories, the older one first, the turns that each comes from, and the "
        "relation that was found between them.",
        "Changed: the first became the second. Fulfilled: the first was planned, and the second "
        "tells that it has happened. Corrected: the second tells that the first was never so. "
        "Cause: the first caused the second. Reason: the first is due to the second. HinderedBy: "
        "they hinder each other. React: after the first the person feels the second. Want: after "
        "the first the person wants the second. SameTopic: both are about the same specific topic.",
    ),
    questions=(_agreement("linking", "The relation holds between these two memories."),),
    source="Theanine, appendix E.2: appropriateness of relation-aware linking",
)
REFINEMENT = RatingForm(
    name="refinement",
    title="Is the refined timeline of more use?",
    guide=(
        "You see a dialogue, a timeline of memories as they are with the relation of each to the "
        "next, and what was made of it for the next reply in this dialogue.",
    ),
    questions=(
        _agreement("refinement", "It is well made of the timeline, and of more use for the reply."),
    ),
    source="Theanine, appendix E.2: helpfulness of timeline refinement",
)
ENTAILMENT = RatingForm(
    name="entailment",
    title="Does the reply fit what was said before?",
    guide=(
        "You see what is remembered, oldest first, a dialogue, and a reply to its last turn. What "
        "was said last on a matter is what holds.",
        "Entails: the reply reflects what is remembered. Contradicts: it says something that can't "
        "be true with it. Neutral: neither.",
    ),
    questions=(
        FormQuestion(
            id="entailment",
            text="How does the reply stand to what is remembered?",
            choices=(
                Choice(value="entails", label="Entails"),
                Choice(value="neutral", label="Neutral"),
                Choice(value="contradicts", label="Contradicts"),
            ),
            undecided="neutral",
        ),
    ),
    source="Theanine, appendix E.2: quality of responses; undecided counts as neutral",
)
HELPFULNESS = RatingForm(
    name="helpfulness",
    title="Which of the two is of more help for the reply?",
    guide=(
        "You see a dialogue and what two systems recalled for the next reply. Which system is "
        "which is hidden, and changes from task to task.",
    ),
    questions=(
        FormQuestion(
            id="helpfulness",
            text="Which helps more to reply?",
            choices=(
                Choice(value="first", label="The first"),
                Choice(value="same", label="Both alike"),
                Choice(value="second", label="The second"),
            ),
            undecided="same",
        ),
    ),
    runs=2,
    source="Theanine, appendix E.2: helpfulness of retrieved memories",
)
PERSPECTIVES = RatingForm(
    name="perspectives",
    title="How good is the reply?",
    guide=("You see what is remembered, a dialogue, and a reply to its last turn.",),
    questions=(
        _scale("coherence", "Coherence: it follows from the dialogue and makes sense in it."),
        _scale("consistency", "Consistency: it contradicts nothing that was said before."),
        _scale("memorability", "Memorability: it uses what is remembered where that matters."),
        _scale("engagingness", "Engagingness: one would want to go on talking."),
        _scale("humanness", "Humanness: a person could have said it."),
    ),
    source="SeCom, appendix A.10, after COMEDY: five perspectives of 0 to 3 points",
)
FORMS: Mapping[str, RatingForm] = {
    form.name: form
    for form in (SUMMARIES, LINKING, REFINEMENT, ENTAILMENT, HELPFULNESS, PERSPECTIVES)
}


def get_form(name: str) -> RatingForm:
    """Return a form by name. Raises SettingsError, listing the names."""
    try:
        return FORMS[name]
    except KeyError:
        raise SettingsError(f"unknown form {name!r}; there are: {', '.join(FORMS)}") from None
