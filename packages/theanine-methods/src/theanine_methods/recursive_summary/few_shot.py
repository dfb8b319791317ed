"""Reply after worked examples (LLM-Rsum, section 6.3, table 5, and the prompt of figure 12)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from theanine.errors import BadInput
from theanine.fences import list_items, one_line
from theanine.llm.bounds import ReplyBounds
from theanine.llm.chat import ScopedChat
from theanine.llm.prompt import load_prompt
from theanine.methods.base import Reply
from theanine.methods.shared.respond import REPLY_TOKENS, ask_reply
from theanine.types import Recollection, Utterance

PACKAGE = "theanine_methods.recursive_summary"
RESPOND_FEW_SHOT = load_prompt(PACKAGE, "respond-few-shot", 1, str, ReplyBounds(REPLY_TOKENS))


SEPARATOR = "\n---\n"
REPLY = "You say: "


@cache
def demonstrations() -> tuple[str, ...]:
    """Return the bundled examples: memories, a conversation, and a good reply to it."""
    file = files(PACKAGE) / "prompts" / f"demonstrations.v{RESPOND_FEW_SHOT.version}.md"
    return _split(file.read_text(encoding="utf-8"))


def read_examples(path: Path, count: int) -> tuple[str, ...]:
    """Return the first ``count`` examples of a file, without fence markers.

    Raises BadInput for a file that can't be read, and for one with fewer or other examples.
    """
    try:
        examples = _split(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"it can't be read: {error}", str(path)) from error
    for number, example in enumerate(examples, 1):
        if example.count(f"\n{REPLY}") != 1:
            raise BadInput(
                f'example {number} needs one line that begins with "{REPLY.strip()}" after what is '
                "remembered and the conversation; lines of --- stand between examples",
                str(path),
            )
    if len(examples) < count:
        raise BadInput(f"it has {len(examples)} examples, not {count}", str(path))
    return tuple("\n".join(map(_clean, text.splitlines())) for text in examples[:count])


def format_examples(examples: Iterable[tuple[Sequence[str], Sequence[str], str]]) -> str:
    """Return a file of examples: of each the remembered texts, the dialogue's lines, the reply."""
    return SEPARATOR.join(
        "\n".join(
            [
                "Remembered:",
                list_items(remembered) or "(nothing)",
                "Conversation:",
                *map(one_line, dialogue),
                f"{REPLY}{one_line(reply)}",
            ]
        )
        for remembered, dialogue, reply in examples
    )


def _clean(line: str) -> str:
    """Return a line without fence markers, indented as it was."""
    return " " * (len(line) - len(line.lstrip())) + one_line(line)


def _split(text: str) -> tuple[str, ...]:
    return tuple(example.strip() for example in text.split(SEPARATOR))


async def respond_few_shot(
    dialogue: Sequence[Utterance],
    recollection: Recollection,
    speaker: str,
    chat: ScopedChat,
    *,
    examples: Sequence[str],
    source_sessions: set[int],
) -> Reply:
    """Reply as ``speaker`` after worked examples.

    ``source_sessions`` are all sessions that the recollection may quote. Raises ModelError when the
    model fails.
    """
    text = await ask_reply(
        RESPOND_FEW_SHOT,
        dialogue,
        recollection,
        speaker,
        chat,
        shown=source_sessions,
        examples="\n\n".join(examples),
    )
    return Reply(text=text, recollection=recollection, made_by=chat.model)
