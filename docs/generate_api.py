"""Write api.md next to this file from signatures and docstrings: `make docs`."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import theanine
from theanine import errors, filters
from theanine.client.arguments import OMITTED
from theanine.client.explaining import ExplainedCandidate, Outcome
from theanine.client.options import RememberWhen
from theanine.client.records import RecordOperations
from theanine.client.searching import SearchHit
from theanine.client.session import AsyncLiveSession
from theanine.client.sync import ReplyStream
from theanine.client.user import AsyncUserMemory
from theanine.llm.settings import Structured
from theanine.methods.base import ReplyPrompt
from theanine.store.values import CostLine, Pending, PendingState
from theanine.types import MarkKind, MessageFormat, Role

HEAD = """# The Python API

<!-- Written by docs/generate_api.py from the docstrings; run `make docs` to update it. -->

Everything that an application needs is in `theanine`. [Getting started](getting-started.md) and
[your own loop](applications.md) show how it is used.
"""
ASYNC = """### In asynchronous code

`theanine.aopen(…)` takes the options of `open` and returns an `AsyncClient`, to be entered with
`async with`; `theanine.aconnect(…)` takes those of `connect`, and `theanine.acopy_store(…)` is
awaited. The handles are `AsyncUserMemory`, `AsyncLiveSession` and `AsyncWorker`. All have the
methods above, as coroutines, except `user`, `session`, `worker`, `stop` and `start_remembering`,
which return at once; `export()` and `reply(stream=True)`, an `AsyncReplyStream`, are read with
`async for`.
"""
SECTIONS: Mapping[str, Sequence[Any]] = {
    "Opening a store": [
        theanine.open,
        theanine.OpenOptions,
        theanine.Limits,
        theanine.ModelSettings,
        theanine.TheanineConfig,
        theanine.TheaninePaperConfig,
    ],
    "A client of a service": [theanine.connect],
    "Copying a store": [theanine.copy_store, theanine.CopyReport],
    "Clients": [
        theanine.Client,
        theanine.UserMemory,
        theanine.LiveSession,
        theanine.Remembering,
        theanine.Worker,
        ReplyStream,
    ],
    "What a recall returns": [
        theanine.Recollection,
        theanine.Part,
        theanine.Explanation,
        SearchHit,
        ExplainedCandidate,
        theanine.Reply,
    ],
    "Records": [
        theanine.Scope,
        theanine.Session,
        theanine.Turn,
        theanine.Memory,
        theanine.Link,
        theanine.Relation,
        theanine.Mark,
        theanine.Timeline,
        theanine.UserSettings,
    ],
    "What is logged": [theanine.Utterance, theanine.Transcript, theanine.History],
    "Reports": [
        theanine.AddReport,
        theanine.ImportReport,
        theanine.RememberReport,
        theanine.ForgetReport,
        theanine.RebuildEstimate,
        theanine.RebuildReport,
        theanine.Estimate,
        CostLine,
        Pending,
    ],
}
TYPES = """## Types in signatures

| | |
| --- | --- |
| `Message` | a message of a chat model's API, such as `{"role": "user", "content": "…"}` |
| `Words` | a text, or the parts of a message's content |
| `Moment` | a `datetime`, a `date`, or words: `"2024-05-01"`, `"yesterday"`, `"3 weeks ago"` |
| `Metadata` | a mapping of names to strings, numbers, true, false or None |
| `Where` | a filter of metadata, as below |
"""
CHOICES = {
    "Role": Role,
    "MessageFormat": MessageFormat,
    "ReplyPrompt": ReplyPrompt,
    "RememberWhen": RememberWhen,
    "MarkKind": MarkKind,
    "Outcome": Outcome,
    "PendingState": PendingState,
    "Structured": Structured,
}
DOCUMENTED_BY: Mapping[type, tuple[type, ...]] = {
    theanine.UserMemory: (AsyncUserMemory, RecordOperations),
    theanine.LiveSession: (AsyncLiveSession,),
    theanine.Worker: (theanine.AsyncWorker,),
}
"""The classes that describe a synchronous one and its methods."""
INTERNAL = {"portal", "completed"}
WIDTH = 100


def pages() -> Iterator[str]:
    """The page, section by section."""
    yield HEAD
    for title, values in SECTIONS.items():
        yield f"## {title}\n"
        for value in values:
            yield from _function(value) if inspect.isfunction(value) else _class(value)
        if title == "Clients":
            yield ASYNC
    yield TYPES + "".join(
        f"| `{name}` | {', '.join(f'`{value}`' for value in get_args(choices))} |\n"
        for name, choices in CHOICES.items()
    )
    yield f"## Filters\n\n{_markdown(filters.__doc__)}"
    tree, _, about = (errors.__doc__ or "").partition("::\n\n")[2].partition("\n\n")
    yield f"## Errors\n\nThey are in `theanine.errors`. {about.strip()}\n"
    yield f"```text\n{textwrap.dedent(tree)}\n```\n"


def _function(function: Any) -> Iterator[str]:
    yield f"### theanine.{function.__name__}\n"
    yield _signature(function.__name__, function, returns="Client")
    yield _markdown(function.__doc__)


def _class(kind: Any) -> Iterator[str]:
    name = "Estimate" if kind is theanine.Estimate else kind.__name__
    yield f"### {name}\n"
    if kind is theanine.Relation:
        yield _markdown(kind.__doc__)
        yield ", ".join(f"`{relation.value}`" for relation in theanine.Relation) + "\n"
        return
    if kind is theanine.OpenOptions:
        yield "The arguments of `open` as an object.\n"
        return
    if is_dataclass(kind):
        yield _signature(name, kind)
    documented_by = DOCUMENTED_BY.get(kind, (kind,))
    for each in documented_by:
        yield _markdown(each.__doc__)
    for member, value in _members(kind):
        described = next((each for each in documented_by if hasattr(each, member)), kind)
        documentation = getattr(described, member).__doc__ or value.__doc__
        if isinstance(value, property | cached_property):
            yield f"**{name}.{member}**: {_markdown(documentation)}"
        else:
            yield f"#### {name}.{member}\n"
            yield _signature(member, getattr(kind, member))
            yield _markdown(documentation)


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class, in the order of their definition."""
    members: dict[str, Any] = {}
    for each in kind.__mro__:
        members = members | {k: v for k, v in vars(each).items() if k not in members}
    for name, value in members.items():
        public = not name.startswith("_") and name not in INTERNAL
        documented = (value.__doc__ or "Deprecated").partition(":")[0] != "Deprecated"
        if public and documented and (inspect.isroutine(value) or isinstance(value, property)):
            yield name, value


def _signature(name: str, function: Any, returns: str = "") -> str:
    """Return a signature as a block, with a parameter a line where it is long."""
    signature = inspect.signature(function)
    parameters = list(_parameters(signature))
    returns = returns or _annotation(signature.return_annotation)
    end = f") -> {returns}" if returns and not inspect.isclass(function) else ")"
    line = f"{name}({', '.join(parameters)}{end}"
    if len(line) > WIDTH:
        line = "\n    ".join([f"{name}(", *(f"{each}," for each in parameters)]) + f"\n{end}"
    return f"```py\n{line}\n```\n"


def _parameters(signature: inspect.Signature) -> Iterator[str]:
    keyword_only = False
    for parameter in signature.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            yield "*"
        annotation = _annotation(parameter.annotation)
        if parameter.default is parameter.empty:
            yield f"{parameter.name}: {annotation}"
        else:
            yield f"{parameter.name}: {annotation} = {_default(parameter.default)}"


def _annotation(annotation: Any) -> str:
    """Return an annotation as it is written, of the synchronous API."""
    if annotation is inspect.Signature.empty:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"Coroutine\[Any, Any, (\w+)\]", r"\1", text)
    return re.sub(r"Annotated\[([^,]+), .*\]", r"\1", text).replace("Async", "")


def _default(value: Any) -> str:
    if value is OMITTED:
        return "…"
    if inspect.isroutine(value):
        return value.__name__
    text = repr(value)
    return "…" if text.startswith("<") else text.removeprefix("datetime.")


def _markdown(documentation: str | None) -> str:
    """Return a docstring as Markdown."""
    text = inspect.cleandoc(documentation or "")
    text = re.sub(r":\w+:`~?(?:Async)?([^`]+)`", r"`\1`", text).replace("``", "`")
    sections = re.split(r"^(Args|Attributes|Raises):\n", text, flags=re.M)
    shown = [sections[0].strip()]
    for label, body in zip(sections[1::2], sections[2::2], strict=True):
        indented, after = body, ""
        if match := re.search(r"\n\n(?=\S)", body):
            indented, after = body[: match.start()], body[match.end() :]
        entries = textwrap.dedent(indented)
        entries = re.sub(r"^(?=    )", "  ", entries, flags=re.M).replace("      ", "  ")
        entries = re.sub(r"^(\w[\w, ]*): ", r"- `\1`: ", entries, flags=re.M)
        if label == "Raises":
            shown.append("Raises:")
        shown += [entries.strip(), after.strip()]
    return "\n\n".join(filter(None, shown)) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("api.md").write_text("\n".join(pages()), "utf-8")
