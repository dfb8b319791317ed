"""Write the prompts that the papers print as folders for `--prompts`.

    THEANINE_PAPERS=FOLDER python tools/published_prompts.py OUT

FOLDER holds the papers as plain text. OUT gets a folder for each paper that prints its prompts,
with a file for each step. None of their sentences is here: only the captions between which a prompt
stands, and which of our values go where. docs/prompts.md says what differs from our own prompts.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

BLANK = re.compile(r"(?:(?:User: |Assistant: |System: )?(?:…\.\.|\.\.\.)\s*)+")
"""A place to be filled in; a dialogue is printed as several in succession."""
PROMPT = re.compile(r"—+–Prompt—+-\s*")
INPUT = re.compile(r"^—+–Input—+-\s*")
HEADINGS = re.compile(r"^(?:Instruction|Test Input)\s*$|\*\*Test Input\*\*", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A prompt in the text of a paper: its place, and our values for its gaps.

    Attributes:
        files: names of the files to write, without ``.md``.
        start: the line before the prompt; of a table, the beginning of the caption below it.
        end: the beginning of the line after the prompt; empty for a table.
        values: our values for what the prompt has in braces.
        blanks: our values for its blanks, in order.
        changes: patterns of parts to leave out or to put something else for, before all that.
    """

    files: tuple[str, ...]
    start: str
    end: str = ""
    values: Mapping[str, str] = field(default_factory=dict[str, str])
    blanks: tuple[str, ...] = ()
    changes: Mapping[str, str] = field(default_factory=dict[str, str])

    def read(self, lines: list[str]) -> str:
        """Return the prompt with our values. Raises ValueError for a text that is not like it."""
        text = "\n".join(self._lines(lines)).replace("$", "$$")
        text = HEADINGS.sub("", PROMPT.sub("\n", INPUT.sub("", text)))
        for pattern, new in self.changes.items():
            text, count = re.subn(pattern, new, text)
            if not count:
                raise ValueError(f"{self.start}: nothing is like {pattern}")
        for name, value in self.values.items():
            if f"{{{name}}}" not in text:
                raise ValueError(f"{self.start}: there is no {{{name}}}")
            text = text.replace(f"{{{name}}}", value)
        if self.blanks:
            pieces = BLANK.split(text)
            if len(pieces) != len(self.blanks) + 1:
                raise ValueError(f"{self.start}: it has {len(pieces) - 1} blanks")
            filled = (
                f"{piece}{value}\n" for piece, value in zip(pieces, self.blanks, strict=False)
            )
            text = "".join(filled) + pieces[-1]
        return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"

    def _lines(self, lines: list[str]) -> list[str]:
        starts = [
            number
            for number, line in enumerate(lines)
            if (line == self.start if self.end else line.startswith(self.start))
        ]
        if len(starts) != 1:
            raise ValueError(f"{self.start}: {len(starts)} lines are like it, not one")
        [start] = starts
        if not self.end:
            return lines[start - 1 : start]
        following = enumerate(lines[start + 1 :], start + 1)
        end = next((number for number, line in following if line.startswith(self.end)), None)
        if end is None:
            raise ValueError(f"{self.start}: no line after it is like {self.end}")
        return lines[start + 1 : end]


def _figure(number: int, file: str, start: str, **values: str) -> Published:
    """Return a prompt of Theanine, between its heading and its caption."""
    return Published(files=(file,), start=start, end=f"Figure {number}:", values=values)


def _table(
    number: int, *files: str, changes: Mapping[str, str] | None = None, blanks: str = ""
) -> Published:
    """Return a prompt of conditional memory, in the line above its caption."""
    filled = tuple(blanks.split())
    return Published(files=files, start=f"Table {number}:", blanks=filled, changes=changes or {})


_PAIR = {"response1": "$response_1", "response2": "$response_2"}
_SPEAKER = r"\{speaker\}: (?=\{response)"  # ours are in the responses
_QUALITIES = {"fluency": "Fluency", "consistency": "consistency", "coherence": "coherency"}


def _g_eval(number: int, file: str, name: str, **values: str) -> Published:
    """Return a prompt of Theanine's G-Eval."""
    return Published(
        files=(file,),
        start=f"Prompt for G-eval: {name}",
        end=f"Figure {number}:",
        values={**_PAIR, **values},
        changes={_SPEAKER: ""},
    )


def _rsum(
    file: str, start: str, end: str, *blanks: str, changes: Mapping[str, str] | None = None
) -> Published:
    """Return a prompt of LLM-Rsum, between its heading and the next one."""
    return Published(files=(file,), start=start, end=end, blanks=blanks, changes=changes or {})


def _quality(name: str) -> Published:
    """Return LLM-Rsum's judge of one quality, without the paragraphs on the others."""
    others = [label for quality, label in _QUALITIES.items() if quality != name]
    return Published(
        files=(f"judge-quality.{name}.v1",),
        start="Single Model Evaluation",
        end="Pairwise Models Evaluation",
        values={"dialog": "$conversation", "persona": "$past", "response": "$reply"},
        changes={rf"#{label}: [^\n]*\n": "" for label in others},
    )


_OPTIONS = {r"(?:\b[A-D]: …\.\.\s*)+": "$options\n"}
PAPERS: Mapping[str, tuple[str, tuple[Published, ...]]] = {
    "theanine": (
        "theanine-v1-with-prompts.txt",
        (
            _figure(
                16,
                "relate-pair.v1",
                "Prompt for Relation-aware Memory Linking",
                dialogue1="$older_session",
                dialogue2="$newer_session",
                sentence1="$older",
                sentence2="$newer",
            ),
            _figure(
                17,
                "refine.v2",
                "Prompt for Context-aware Timeline Refinement",
                current_dialogue="$dialogue",
                input_path="$path",
            ),
            _figure(
                18,
                "respond-reasoned.v1",
                "Prompt for Timeline-augmented Response Generation",
                speaker="$speaker",
                memory_text="$remembered",
                current_dialogue="$dialogue",
            ),
            _figure(
                19,
                "update-memory-pair.v1",
                "Prompt for Memory Update (Baseline)",
                memory="$older",
                summary="$newer",
            ),
            _g_eval(
                20, "compare-replies.specificity.v1", "Specificity", conversation="$conversation"
            ),
            _g_eval(
                21,
                "compare-with-past.memorability.v1",
                "Memorability",
                past_memories="$past",
                current_conversation="$conversation",
            ),
            _g_eval(
                22,
                "compare-with-past.consistency.v1",
                "Consistency",
                past_memories="$past",
                current_conversation="$conversation",
            ),
            _figure(
                23,
                "teafarm-question.v1",
                "Prompt for Generating counterfactual QA in TeaFarm",
                speaker1="$speaker_1",
                speaker2="$speaker_2",
                summaries="$statements",
            ),
            _figure(
                24,
                "teafarm-session.v1",
                "Prompt for Generating session 6 in TeaFarm",
                Question="$question",
                session5="$last",
            ),
            _figure(
                25,
                "teafarm-judge.v2",
                "Prompt for Evaluating model responses in TeaFarm",
                query="$question",
                answer="$answer",
                response="$reply",
            ),
        ),
    ),
    "conditional-memory": (
        "conditional-memory.txt",
        (
            _table(8, "generate-continuation.v1", blanks="$dialogue"),
            _table(9, "generate-question.v1", blanks="$statement"),
            _table(10, "generate-similar.v1", blanks="$request"),
            _table(
                11, "generate-suggestion.v1", blanks="$request_1 $answer_1 $request_2 $answer_2"
            ),
            _table(12, "generate-background.v1", blanks="$request"),
            _table(13, "judge-gpt-score.v1", blanks="$reference $answer"),
            _table(14, "choose-answer.gsb.v1", blanks="$conversation $reference", changes=_OPTIONS),
            _table(
                15, "choose-answer.choice.v1", blanks="$conversation $reference", changes=_OPTIONS
            ),
            _table(16, "conditional-summary.v1", blanks="$turns"),
            _table(
                17,
                "conditional-reply.v1",
                blanks="$last $remembered",
                changes={r"^": "[Dialogue]:\n$dialogue\n"},
            ),
            _table(18, "conditional-record.v1", blanks="$turns $input"),
            _table(
                19,
                "conditional-reflect.v1",
                "conditional-reflect.v2",
                blanks="$last",
                changes={r"candidate memory 1 …\.\. candidate memory n": "$found\n"},
            ),
        ),
    ),
    "llm-rsum": (
        "llm-rsum.txt",
        (
            *(
                _rsum(
                    f"respond.{method}.v1",
                    "Response Generator Prompt (With Memory)",
                    "Memory Management Prompt",
                    "$remembered",
                    "$dialogue",
                    changes={r"So the [^:\n]* is :\s*$": "Response:"},
                )
                for method in ("recursive-summary", "gold-memory")
            ),
            _rsum(
                "rewrite-summary.v1", "Memory Management Prompt", "Figure 12:", "$summary", "$turns"
            ),
            *(
                _rsum(
                    f"respond.{method}.v1",
                    "Response Generator Prompt (Without Memory)",
                    "Figure 13:",
                    past + "$dialogue",
                )
                for method, past in (("full-history", "$remembered\n"), ("no-memory", ""))
            ),
            *(
                _rsum(
                    f"respond.{method}.v1",
                    "Retrieval-augmentation Prompt",
                    "Retrieval-augmentation Prompt (With Memory)",
                    "$remembered",
                    "$dialogue",
                )
                for method in ("exchange", "utterance")
            ),
            *map(_quality, _QUALITIES),
            Published(
                files=("compare-with-past.overall.v1",),
                start="Pairwise Models Evaluation",
                end="Figure 15:",
                values=_PAIR,
                changes={
                    r"(\S+ 1: )(?=\{response1\})": r"Conversation context:\n$conversation\n\n"
                    r"Personality:\n$past\n\n\1"
                },
            ),
        ),
    ),
}


def write_prompts(papers: Path, out: Path) -> Iterator[Path]:
    """Write the folders, and yield each file. Raises ValueError for another text of a paper."""
    for name, (file, prompts) in PAPERS.items():
        lines = (papers / file).read_text("utf-8").splitlines()
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        for prompt in prompts:
            text = prompt.read(lines)
            for each in prompt.files:
                path = folder / f"{each}.md"
                path.write_text(text, "utf-8")
                yield path


def main() -> int:
    """Write the prompts and return the exit code."""
    papers = os.environ.get("THEANINE_PAPERS") or ""
    if not Path(papers).is_dir() or len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print("THEANINE_PAPERS=FOLDER python tools/published_prompts.py OUT", file=sys.stderr)
        return 2
    try:
        for path in write_prompts(Path(papers), Path(sys.argv[1])):
            print(path)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
