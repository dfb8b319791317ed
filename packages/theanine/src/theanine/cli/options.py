"""What the commands share: their options and how they open the store."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from theanine.cli.rendering import visible

if TYPE_CHECKING:
    from theanine.client.sync import Client

Items = dict[str, Any]
StoreOption = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="THEANINE_STORE",
        metavar="FILE",
        help="The store; by default a file in your data folder.",
        show_default=False,
    ),
]
UserOption = Annotated[str, typer.Option("--user", metavar="NAME", help="Whose memory it is.")]
EachUser = Annotated[str | None, typer.Option("--user", metavar="NAME", help="Only this user.")]
JsonOption = Annotated[bool, typer.Option("--json", help="As JSON, for other programs.")]
ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        envvar="THEANINE_MODEL",
        metavar="NAME",
        help="A chat model, such as openai:gpt-4o-mini; its key is read from the environment.",
    ),
]
BaseUrlOption = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        envvar="THEANINE_BASE_URL",
        metavar="URL",
        help="An OpenAI-compatible server: Ollama, vLLM, LM Studio and the like.",
    ),
]
EmbedderOption = Annotated[
    str,
    typer.Option(
        "--embedder",
        envvar="THEANINE_EMBEDDER",
        metavar="NAME",
        help="An embedding model, such as openai:text-embedding-3-small; `local` is bundled.",
    ),
]
RerankerOption = Annotated[
    str | None,
    typer.Option(
        "--reranker",
        envvar="THEANINE_RERANKER",
        metavar="NAME",
        help="A model that reads question and memory together, such as cross-encoder:FOLDER.",
    ),
]
RerankedOption = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="How many of the best the reranker reads; 50 if not set."
    ),
]
MethodOption = Annotated[
    str | None,
    typer.Option(
        "--method",
        envvar="THEANINE_METHOD",
        metavar="NAME",
        help="How to remember: theanine, secom, turn and others; see docs/methods. By default as "
        "the store does already; theanine for a new one.",
    ),
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of the method, such as retrieved=5; paper=true begins from the paper's.",
    ),
]


def default_store() -> str:
    """``$XDG_DATA_HOME/theanine/memory.db``, so that every folder sees the same memory."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return str(Path(data) / "theanine" / "memory.db")


def open_client(
    store: str = "",
    model: str = "local",
    base_url: str | None = None,
    embedder: str = "local",
    method: str | None = "theanine",
    settings: list[str] | None = None,
    *,
    begins: bool = False,
    reranker: str | None = None,
    reranked: int | None = None,
) -> Client:
    """The agent that a command works with. ``method``: None is the store's own.

    Raises NotFound where there is no store, unless the command ``begins`` one.
    """
    import theanine
    from theanine.errors import NotFound
    from theanine.retrieval.rerank import DEFAULT_RERANK_DEPTH

    place = store or default_store()
    agent = theanine.aopen(
        place,
        model=model,
        base_url=base_url,
        embedder=embedder,
        reranker=reranker,
        reranked=DEFAULT_RERANK_DEPTH if reranked is None else reranked,
        method=method,
        config=parse_settings(settings or []),
    )
    file = Path(place).expanduser()
    if not begins and not (file.exists() and file.stat().st_size):
        raise NotFound(
            f"there is no store at {place}; `theanine chat` or `theanine import` begins one, or "
            "name another with --store"
        )
    return theanine.Client(agent)


def notify_if_local(model: str, base_url: str | None = None) -> None:
    """Say, as the work begins, that no language model does it, if none was named."""
    if model == "local" and base_url is None:
        print(
            "No language model is configured: the local versions work (--model).", file=sys.stderr
        )


def parse_settings(settings: list[str]) -> dict[str, str] | None:
    """``NAME=VALUE`` settings as a mapping, None for none. Raises SettingsError."""
    from theanine.errors import SettingsError

    if wrong := [one for one in settings if "=" not in one]:
        raise SettingsError(f"--set {wrong[0]}: write it as NAME=VALUE, such as retrieved=5")
    return dict(one.split("=", 1) for one in settings) or None


def undated(agent: Client, user: str) -> frozenset[int]:
    """Numbers of the user's sessions whose times only keep their order. Raises NotFound."""
    return frozenset(session.id for session in agent.sessions(user) if not session.dated)


def with_dated(value: Any, undated: frozenset[int]) -> Any:
    """The same JSON, in which all that has a session and a time also says whether it is dated."""
    if isinstance(value, dict):
        found = {key: with_dated(one, undated) for key, one in cast("Items", value).items()}
        if "session" in found and "at" in found:
            found["dated"] = found["session"] not in undated
        return found
    if isinstance(value, list | tuple):
        return [with_dated(one, undated) for one in cast("list[Any]", value)]
    return value


def show_json(value: Any) -> None:
    """Anything of ours as indented JSON; times in ISO 8601."""
    print(visible(json.dumps(value, default=json_default, ensure_ascii=False, indent=2)))


def json_default(value: Any) -> str:
    """What JSON has no form for, as text; times in ISO 8601."""
    iso = getattr(value, "isoformat", None)
    return str(iso() if iso else value)
