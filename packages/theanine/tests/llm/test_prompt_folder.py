"""Prompts of a folder in place of the package's, and replies in the forms that papers publish."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import theanine
from theanine.errors import SettingsError
from theanine.llm.parsing import CUT_OFF, InvalidReply
from theanine.llm.prompt import PromptTemplate
from theanine.llm.prompt_folder import PromptFolder
from theanine.llm.published import without_label
from theanine.methods.shared.respond import RESPOND, RESPOND_REASONED
from theanine.methods.theanine.relate import RELATE_PAIR
from theanine.testing import ScriptedServer, answer
from theanine.testing.script import prompt_of
from theanine_methods.conditional.record import RECORD
from theanine_methods.conditional.reflect import REFLECT_SENTENCES
from theanine_methods.conditional.reply import REPLY
from theanine_methods.memory_update.decide import UPDATE_PAIR
from theanine_methods.summarization.running_summary import REWRITE_SUMMARY

TURNS = "-- 3 May 2024\n[4] Ana (user): My boat leaks again.\n[5] Bo (agent): Where?"


def read(step: PromptTemplate[Any], reply: str, **values: str) -> dict[str, Any]:
    own = PromptFolder({f"{step.name}.v{step.version}": "Say it."}).replace(step)
    assert own.schema is None
    return own.parse(reply, values).model_dump(mode="json")


@pytest.mark.parametrize(
    "reply",
    [
        "- Explanation: it leaks\n- Relation: Cause",
        "it leaks - Relation: (Cause)",
        "**Explanation:** it leaks\n**Relation:** 2. Cause",
        "<OUTPUT>\n- explanation: it leaks\n\n- relation: cause.",
    ],
)
def test_labels_are_found_in_their_spellings(reply: str) -> None:
    assert read(RELATE_PAIR, reply) == {"explanation": "it leaks", "relation": "Cause"}


def test_a_label_inside_of_a_sentence_is_none() -> None:
    reply = "[Rationale]:\nAna wrote a note: response: none.\n\n[Response]:\nIs it dry?\nI hope so."
    assert read(RESPOND_REASONED, reply) == {
        "rationale": "Ana wrote a note: response: none.",
        "response": "Is it dry?\nI hope so.",
    }


def test_forms_of_the_papers_are_read() -> None:
    assert read(UPDATE_PAIR, "'REPLACE'\nExplanation: it can append more.") == {
        "operation": "Replace",
        "explanation": "it can append more.",
    }
    assert read(REPLY, "<Respond>: Dry it first. <Decision>: Yes.") == {
        "response": "Dry it first.",
        "worth": "yes",
    }
    assert read(REPLY, "<Respond>: Dry it.\n<Decision>: **No**")["worth"] == "no"
    copied = "<Context>: Ana: My boat leaks again!\n<Summary>: She needs help.\n<Note>: It leaks."
    [record] = read(RECORD, copied, asked="5", turns=TURNS)["records"]
    assert record == {
        "turn": 5,
        "related": [4],
        "context": "She needs help.",
        "knowledge": "It leaks.",
    }
    found = "-- M1, 3 May 2024\n[1] The boat leaks at the keel.\n[2] Bo sells boats."
    memory = read(REFLECT_SENTENCES, "<Memory>: the boat leaks at the keel", found=found)
    assert memory == {"enough": True, "relevant": [1], "keywords": []}
    query = read(REFLECT_SENTENCES, "<Query>: keel, repair, ", found=found)
    assert query == {"enough": False, "relevant": [], "keywords": ["keel", "repair"]}


@pytest.mark.parametrize(
    ("reply", "operation"),
    [
        ("Explanation: we can't PASS on this.\nOperation: REPLACE", "Replace"),
        ("REPLACE\nExplanation: so it is no longer right to APPEND.", "Replace"),
        ("We must APPEND it.", "Append"),
        ("Operation: append.", "Append"),
    ],
)
def test_an_operation_in_an_explanation_is_none(reply: str, operation: str) -> None:
    assert read(UPDATE_PAIR, reply)["operation"] == operation


def test_parts_keep_their_marks() -> None:
    reply = "**[Rationale]**: She asked.\n**[Response]**\n- milk\n- eggs **today**"
    assert read(RESPOND_REASONED, reply) == {
        "rationale": "She asked.",
        "response": "- milk\n- eggs **today**",
    }


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("Sort it.\nInput: [3, 1]\nOutput: [1, 3]", "Sort it.\nInput: [3, 1]\nOutput: [1, 3]"),
        ("Output: Sort it.\nOutput: [1]", "Sort it.\nOutput: [1]"),
        (" **Output:** Sort it.", "Sort it."),
    ],
)
def test_a_label_is_taken_from_the_beginning_alone(reply: str, text: str) -> None:
    assert without_label(reply, "Output") == text


@pytest.mark.parametrize(
    "reply",
    [
        "So the updated memory is:\nUser's traits:\n- Likes boats.",
        "Updated Memory:\n**User's traits:**\n- Likes boats.",
        "So the updated memory is : Likes boats.",
        "## Updated\nLikes boats.",
    ],
)
def test_headings_of_a_summary_are_no_sentences(reply: str) -> None:
    [sentence] = read(REWRITE_SUMMARY, reply, turns=TURNS, summary="")["sentences"]
    assert sentence["text"] == "Likes boats."


def test_a_summary_in_prose_rests_on_all_that_was_shown() -> None:
    reply = "Updated Memory:\n1. Ana has a boat. It leaks.\n2. Bo sells boats."
    summary = "S1 (1 May 2024) Ana has a boat.\nS2 Bo is tired."
    [first, *others] = read(REWRITE_SUMMARY, reply, turns=TURNS, summary=summary)["sentences"]
    assert first == {"text": "Ana has a boat.", "turns": [4, 5], "kept": [1, 2]}
    assert [sentence["text"] for sentence in others] == ["It leaks.", "Bo sells boats."]


@pytest.mark.parametrize(
    ("step", "reply", "fault"),
    [
        (RELATE_PAIR, "They are related.", "it lacks Relation:"),
        (RELATE_PAIR, "Explanation: x\nRelation: Friend", "does not fit the schema"),
        (RELATE_PAIR, " \n", "it is empty"),
        (UPDATE_PAIR, "Nothing of the kind.", "it names none of PASS"),
        (UPDATE_PAIR, "I would not replace it.", "it names none of PASS"),
        (UPDATE_PAIR, "PASS or APPEND\nExplanation: both are said.", "it names several of PASS"),
        (UPDATE_PAIR, "Explanation: so we can't PASS.", "outside of its explanation"),
        (REFLECT_SENTENCES, "I remember.", "needs <Memory>: or <Query>:"),
    ],
)
def test_other_replies_are_refused(step: PromptTemplate[Any], reply: str, fault: str) -> None:
    with pytest.raises(InvalidReply, match=fault):
        read(step, reply, found="", turns="", asked="1")


def test_a_reply_that_was_cut_off_is_refused() -> None:
    own = PromptFolder({"relate-pair.v1": "Say it."}).replace(RELATE_PAIR)
    with pytest.raises(InvalidReply, match=CUT_OFF):
        own.parse("Explanation: x\nRelation: Cause", {}, cut_off=True)


def test_a_method_may_have_its_own() -> None:
    folder = PromptFolder({"respond.v1": "all", "respond.session.v1": "one", "respond.v9": "no"})
    assert folder.replace(RESPOND, "session").template == "one"
    assert folder.replace(RESPOND, "exchange").template == "all"
    assert folder.replace(RELATE_PAIR, "session") is RELATE_PAIR


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        (None, "", "there are no prompts"),
        ("respond.md", "Say it.", "not named by a step and its version"),
        ("respond.v1.md", " \n", "respond.v1.md is empty"),
    ],
)
def test_a_folder_of_something_else_is_refused(
    tmp_path: Path, name: str | None, text: str, fault: str
) -> None:
    if name:
        (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(SettingsError, match=fault):
        PromptFolder.read(tmp_path)


def replies(request: Mapping[str, Any]) -> str:
    """Answer made-up prompts in the papers' forms, and ours as usual."""
    prompt = prompt_of(request)
    if prompt.startswith("How are these two"):
        return "- Explanation: the leak\n- Relation: Cause"
    if prompt.startswith("Make one of these"):
        return "Her boat leaks, so she can't sail."
    if prompt.startswith("Answer for"):
        return "[Rationale]:\nThe boat.\n[Response]:\nMend the keel first."
    return answer(request)


def test_a_run_asks_by_the_prompts_of_a_folder_and_journals_them(tmp_path: Path) -> None:
    folder, store = tmp_path / "prompts", tmp_path / "memory.db"
    folder.mkdir()
    for name, text in {
        "relate-pair.v1": "How are these two related? $older / $newer",
        "refine.v2": "Make one of these, which cost $$5: $path\nFor: $dialogue",
        "respond-reasoned.theanine-paper.v1": "Answer for $speaker: $last\nBy: $remembered",
    }.items():
        (folder / f"{name}.md").write_text(text, "utf-8")
    with (
        ScriptedServer(replies) as server,
        theanine.open(
            store,
            method="theanine-paper",
            config={"paper": "2024"},
            model="openai:test",
            base_url=server.base_url,
            embedder="hash:64",
            prompts=folder,
        ) as client,
    ):
        ana = client.user("ana")
        for text in ("My boat leaks at the keel.", "My boat still leaks, so I can't sail."):
            ana.add([{"role": "user", "content": text}])
        assert [str(link.relation) for link in ana.links()] == ["Cause"]
        reply = ana.reply("What shall I do about my leaking boat?")
        sent = [prompt_of(request) for request in server.requests]
    assert (reply.text, reply.rationale) == ("Mend the keel first.", "The boat.")
    assert any(prompt.startswith("Make one of these, which cost $5: [") for prompt in sent)
    assert not any("Task: refine" in prompt or "Task: relate" in prompt for prompt in sent)
    with closing(sqlite3.connect(store)) as database:
        rows = database.execute("SELECT step, version, prompt FROM journal").fetchall()
    journaled = {step: (version, prompt) for step, version, prompt in rows}
    assert journaled["relate-pair"][0] == 1
    assert "How are these two related?" in journaled["relate-pair"][1]


def test_a_value_that_a_step_lacks_is_named(tmp_path: Path) -> None:
    (tmp_path / "summarize.v1.md").write_text("Sum up $sessions", "utf-8")
    with (
        ScriptedServer() as server,
        theanine.open(
            tmp_path / "memory.db",
            method="theanine",
            model="openai:test",
            base_url=server.base_url,
            prompts=tmp_path,
        ) as client,
        pytest.raises(SettingsError, match=r"summarize@1 .*'sessions'.* may name \$turns"),
    ):
        client.user("ana").add([{"role": "user", "content": "My boat leaks."}])
