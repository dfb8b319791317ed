"""The input and the output of hooks, in one form for all hosts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal, cast

from theanine.errors import BadInput

Moment = Literal["start", "prompt", "reply", "pause", "end"]
"""When a hook runs: a session starts, before a prompt, after a reply, before what was said is
shortened or when the agent waits, and at the end."""

_MOMENTS: Mapping[str, Moment] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "PreCompact": "pause",
    "Stop": "pause",
    "SessionEnd": "end",
    "sessionStart": "start",
    "beforeSubmitPrompt": "prompt",
    "afterAgentResponse": "reply",
    "preCompact": "pause",
    "stop": "pause",
    "sessionEnd": "end",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The input of a hook.

    Attributes:
        name: the host's name of it.
        moment: when the hook runs.
        session: the host's id of the session.
        project: the name of the project's folder; empty if unknown.
        transcript: the file that the host keeps the session in; None if it names none.
        words: the prompt or the reply; empty where there is none.
        is_resumed: whether an earlier session goes on.
    """

    name: str
    moment: Moment
    session: str
    project: str = ""
    transcript: Path | None = None
    words: str = ""
    is_resumed: bool = False

    @property
    def is_cursors(self) -> bool:
        """Whether it is of Cursor, which says what was said itself."""
        return self.name[0].islower()

    @property
    def is_recorded(self) -> bool:
        """Whether something is to be logged or remembered then.

        What a session of the other hosts said is read from its transcript, at pauses.
        """
        return self.is_cursors or self.moment in ("start", "pause", "end")

    def answer(self, context: str) -> str:
        """Return a text for the model in the form that the host reads."""
        if self.is_cursors:
            output: dict[str, Any] = {"additional_context": context}
            if self.moment == "prompt":
                output = {"continue": True, **output}
        else:
            specific = {"hookEventName": self.name, "additionalContext": context}
            output = {"hookSpecificOutput": specific}
        return json.dumps(output, ensure_ascii=False)


def read_event(text: str) -> Event | None:
    """Return what a host has written to a hook; None for an event that is not ours.

    Raises BadInput for what is no event.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    name = fields.get("hook_event_name")
    if not isinstance(name, str):
        raise BadInput("the input is not a hook's: a JSON object with hook_event_name")
    if name not in _MOMENTS:
        return None
    roots = fields.get("workspace_roots")
    folders = cast("list[Any]", roots) if isinstance(roots, list) else []
    folder = str((folders or [fields.get("cwd")])[0] or "")
    words = fields.get("prompt") or fields.get("text") or fields.get("last_assistant_message")
    transcript = fields.get("transcript_path")
    return Event(
        name=name,
        moment=_MOMENTS[name],
        session=str(fields.get("conversation_id") or fields.get("session_id") or ""),
        project=PurePosixPath(folder.replace("\\", "/")).name,
        transcript=Path(transcript).expanduser() if isinstance(transcript, str) else None,
        words=words if isinstance(words, str) else "",
        is_resumed=fields.get("source") == "resume",
    )
