"""Options of stores and models that several commands share, and opening a store by them."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

from theanine.cli.output import JsonOption as JsonOption
from theanine.cli.output import show_json as show_json
from theanine.client import AsyncClient, Client, OpenOptions, UserMemory
from theanine.client.redaction import KINDS
from theanine.errors import NotFound, SettingsError, TheanineError
from theanine.llm.limits import Limits
from theanine.methods.registry import names
from theanine.private_files import make_folder
from theanine.retrieval.rerank import DEFAULT_RERANK_DEPTH
from theanine.store import store_file
from theanine.suggestion import suggest

MAX_LISTED_USERS = 10
"""Users that the message about an unknown one lists."""


def _complete_users(context: typer.Context, incomplete: str) -> list[str]:
    store = context.params.get("store") or os.environ.get("THEANINE_STORE", "")
    with suppress(TheanineError), open_client(store) as client:
        users = {scope.user for scope in client.users()}
        return sorted(user for user in users if user.startswith(incomplete))
    return []


def _complete_methods(incomplete: str) -> list[str]:
    return [name for name in names() if name.startswith(incomplete)]


StoreOption = Annotated[
    str,
    typer.Option(
        "--store",
        "-s",
        envvar="THEANINE_STORE",
        metavar="FILE",
        help="Store to use (default: memory.db in your data folder).",
        show_default=False,
    ),
]


def _user_option(help: str, *, named: bool = False) -> Any:
    """Return the declaration of ``--user``; ``named``: a configured user doesn't stand for it."""
    return typer.Option(
        "--user",
        "-u",
        envvar=None if named else "THEANINE_USER",
        metavar="NAME",
        autocompletion=_complete_users,
        help=help,
    )


UserOption = Annotated[str, _user_option("User of the store.")]
MaybeUser = Annotated[str | None, _user_option("User of the store (default: your login name).")]
NamedUser = Annotated[str, _user_option("User of the store; always named.", named=True)]
EachUser = Annotated[
    str | None, _user_option("Only this user, always named (default: all).", named=True)
]
ImportUser = Annotated[str | None, _user_option("User to import into (default: from the file).")]
WebhookAllowOption = Annotated[
    list[str] | None,
    typer.Option(
        "--webhook-allow",
        envvar="THEANINE_WEBHOOK_ALLOW",
        metavar="NETWORK",
        help="Internal network where webhooks may be sent, such as 10.0.0.0/8; repeatable.",
    ),
]
YesOption = Annotated[bool, typer.Option("--yes", help="Don't ask for confirmation.")]
ModelOption = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        envvar="THEANINE_MODEL",
        metavar="NAME",
        help="Chat model, such as openai:gpt-4o-mini; its API key comes from the environment.",
    ),
]
BaseUrlOption = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        envvar="THEANINE_BASE_URL",
        metavar="URL",
        help="OpenAI-compatible server, such as Ollama, vLLM or LM Studio.",
    ),
]
ModelSettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--model-set",
        metavar="NAME=VALUE",
        help="Setting of the model, such as temperature=0.7 or max_tokens=400; repeatable.",
    ),
]
MemoryModelOption = Annotated[
    str | None,
    typer.Option(
        "--memory-model",
        envvar="THEANINE_MEMORY_MODEL",
        metavar="NAME",
        help="Chat model that remembers, if not --model; `local` remembers without one.",
    ),
]
MemoryBaseUrlOption = Annotated[
    str | None,
    typer.Option(
        "--memory-base-url",
        envvar="THEANINE_MEMORY_BASE_URL",
        metavar="URL",
        help="Server of the model that remembers (default: that of --base-url).",
    ),
]
MemorySettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--memory-set",
        metavar="NAME=VALUE",
        help="Setting of the model that remembers (default: --model-set if it is --model).",
    ),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        envvar="THEANINE_TIMEOUT",
        min=1,
        metavar="SECONDS",
        help=f"Time to wait for one reply of a model (default: {Limits().timeout:g}).",
    ),
]
RedactOption = Annotated[
    str | None,
    typer.Option(
        envvar="THEANINE_REDACT",
        metavar="KINDS",
        help=f"What to replace before anything is stored, of: {','.join(KINDS)}.",
    ),
]
EmbedderOption = Annotated[
    str,
    typer.Option(
        "--embedder",
        envvar="THEANINE_EMBEDDER",
        metavar="NAME",
        help="Embedding model, such as openai:text-embedding-3-small; `local` is bundled.",
    ),
]
RerankerOption = Annotated[
    str | None,
    typer.Option(
        "--reranker",
        envvar="THEANINE_RERANKER",
        metavar="NAME",
        help="Cross-encoder that reorders the best candidates, such as cross-encoder:FOLDER.",
    ),
]
RerankedOption = Annotated[
    int | None,
    typer.Option(
        "--rerank-depth",
        envvar="THEANINE_RERANK_DEPTH",
        min=1,
        metavar="N",
        help=f"Number of candidates to rerank (default: {DEFAULT_RERANK_DEPTH}).",
    ),
]
MethodOption = Annotated[
    str | None,
    typer.Option(
        "--method",
        "-M",
        envvar="THEANINE_METHOD",
        metavar="NAME",
        autocompletion=_complete_methods,
        help="Memory method: theanine, secom, exchange and others, see docs/methods (default: the "
        "store's own; theanine for a new store).",
    ),
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Setting of the method, such as retrieved=5; paper=true starts from the paper's "
        "settings.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class UsersOptions:
    """Options of a command for one user or for all."""

    user: Annotated[str | None, _user_option("Only this user (default: all).")] = None
    all_users: Annotated[
        bool,
        typer.Option("--all-users", help="All users, also if --user or its default names one."),
    ] = False

    def names(self, client: Client) -> list[str]:
        """Return the names of the users, in order."""
        return user_names(client, None if self.all_users else self.user)

    def handle(self, client: Client) -> Client | UserMemory:
        """Return the handle of the user, or the client itself for all. Raises NotFound."""
        return user_or_all(client, None if self.all_users else self.user)


@dataclass(frozen=True, kw_only=True)
class StoreOptions:
    """Options of a command that reads the memories of one method."""

    store: StoreOption = ""
    method: MethodOption = None

    def open(self) -> Client:
        """Open the store. Raises NotFound if there is none."""
        return open_client(self.store, method=self.method)


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Options of a command that may ask a model."""

    store: StoreOption = ""
    method: MethodOption = None
    settings: SettingsOption = None
    model: ModelOption = "local"
    base_url: BaseUrlOption = None
    model_settings: ModelSettingsOption = None
    timeout: TimeoutOption = None
    embedder: EmbedderOption = "local"

    def open(self, *, create: bool = False) -> Client:
        """Open the store. Raises NotFound if there is none, unless it may be created."""
        return _open(self.open_options(), create=create)

    def open_options(self) -> OpenOptions:
        """Return the client's options."""
        return OpenOptions(
            self.store or default_store(),
            method=self.method,
            config=parse_settings(self.settings or []),
            model=self.model,
            base_url=self.base_url,
            model_settings=parse_settings(self.model_settings or [], "--model-set"),
            limits=Limits().with_timeout(self.timeout),
            embedder=self.embedder,
        )


HostOption = Annotated[
    str, typer.Option(envvar="THEANINE_HOST", metavar="ADDRESS", help="Address to listen on.")
]
MetricsPortOption = Annotated[
    int | None,
    typer.Option(
        envvar="THEANINE_METRICS_PORT",
        min=0,
        max=65_535,
        help="Port with metrics for Prometheus, which needs no key (default: none).",
        show_default=False,
    ),
]


@dataclass(frozen=True, kw_only=True)
class RememberOptions(ModelOptions):
    """Options of a command that remembers."""

    memory_model: MemoryModelOption = None
    memory_base_url: MemoryBaseUrlOption = None
    memory_settings: MemorySettingsOption = None

    def open_options(self) -> OpenOptions:
        """Return the client's options."""
        return replace(
            super().open_options(),
            memory_model=self.memory_model,
            memory_base_url=self.memory_base_url,
            memory_settings=parse_settings(self.memory_settings or [], "--memory-set"),
        )


@dataclass(frozen=True, kw_only=True)
class AddOptions(RememberOptions):
    """Options of a command that logs turns and remembers them."""

    redact: RedactOption = None

    def open_options(self) -> OpenOptions:
        """Return the client's options."""
        return replace(super().open_options(), redact=self.redact or None)


@dataclass(frozen=True, kw_only=True)
class RecallOptions(ModelOptions):
    """Options of a command that recalls."""

    reranker: RerankerOption = None
    rerank_depth: RerankedOption = None

    def open_options(self) -> OpenOptions:
        """Return the client's options."""
        return replace(
            super().open_options(),
            reranker=self.reranker,
            reranked=self.rerank_depth or DEFAULT_RERANK_DEPTH,
        )


@dataclass(frozen=True, kw_only=True)
class ChatOptions(RecallOptions, AddOptions):
    """Options of a command that recalls, replies and remembers."""


@dataclass(frozen=True, kw_only=True)
class HostedOptions(ChatOptions):
    """Options of a client inside a program that others talk to, such as a service or a hook."""

    remembering: Annotated[
        Literal["background", "later", "now"],
        typer.Option(
            help="When an ended session is remembered; `later` leaves it to `theanine remember`."
        ),
    ] = "background"

    def open_options(self) -> OpenOptions:
        """Return the client's options."""
        return replace(super().open_options(), remembering=self.remembering)


def expand_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter that is a dataclass of options by the dataclass's fields.

    The command line then has an option for each field, after the command's own parameters, and
    the command gets an instance of the dataclass.
    """
    own: list[inspect.Parameter] = []
    shared: list[inspect.Parameter] = []
    groups: dict[str, tuple[type[Any], list[str]]] = {}
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        if not is_dataclass(hint := hints[name]):
            own.append(parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        assert isinstance(hint, type)
        groups[name] = (hint, [field.name for field in fields(hint)])
        field_hints = get_type_hints(hint, include_extras=True)
        shared.extend(
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.default is MISSING else field.default,
                annotation=field_hints[field.name],
            )
            for field in fields(hint)
        )

    @wraps(command)
    def expanded(**values: Any) -> None:
        options = {
            name: kind(**{field: values.pop(field) for field in names})
            for name, (kind, names) in groups.items()
        }
        command(**values, **options)

    expanded.__signature__ = inspect.Signature([*own, *shared])  # pyright: ignore[reportAttributeAccessIssue]  # typer reads it
    expanded.__annotations__ = {p.name: p.annotation for p in [*own, *shared]}
    return expanded


def open_client(
    store: str = "",
    *,
    method: str | None = "theanine",
    embedder: str = "local",
    redact: str | None = None,
) -> Client:
    """Open an existing store, the default one if ``store`` is empty.

    Args:
        method: method id; None for the store's own. The default suits commands that don't
            depend on the method: the store's own may be of a package that isn't installed.
        redact: kinds of data to replace in what is stored.

    Raises:
        NotFound: there is no store.
        SettingsError: an unknown name.
    """
    options = OpenOptions(
        store or default_store(), method=method, embedder=embedder, redact=redact or None
    )
    return _open(options, create=False)


def _open(options: OpenOptions, *, create: bool) -> Client:
    client = AsyncClient(options)
    location = str(options.location)
    if not create:
        require_store(location)
    make_default_folder(location)
    return Client(client)


def require_store(location: str) -> None:
    """Raise NotFound for the location of a file that isn't there."""
    name = store_file(location)
    if name is None:  # a server says by itself what it lacks
        return
    file = Path(name).expanduser()
    if not (file.exists() and file.stat().st_size):
        raise NotFound(
            f"there is no store at {location}; create one with `theanine chat` or "
            "`theanine import`, or name another with --store"
        )


def user_names(client: Client, user: str | None) -> list[str]:
    """Return the name of a user, or the names of all users in order. Raises NotFound."""
    if user is None:
        return sorted({scope.user for scope in client.users()})
    user_or_all(client, user)
    return [user]


def user_or_all(client: Client, user: str | None) -> Client | UserMemory:
    """Return the handle of a user, or the client itself for all users. Raises NotFound."""
    return client if user is None else known_user(client, user)


def known_user(client: Client, user: str) -> UserMemory:
    """Return the handle of a user. Raises NotFound, which lists the users, for one without data."""
    memory, known = client.user(user), client.users()
    if memory.scope not in known:
        users = list(map(str, known))
        listed = ", ".join(users[:MAX_LISTED_USERS]) or "nobody yet"
        more = f" and {len(users) - MAX_LISTED_USERS:,} more" * (len(users) > MAX_LISTED_USERS)
        raise NotFound(
            f"no user {user} in this store{suggest(user, users)}; it has: {listed}{more}"
        )
    return memory


def default_store() -> str:
    """Return ``$XDG_DATA_HOME/theanine/memory.db``, the same from every folder."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return str(Path(data) / "theanine" / "memory.db")


def make_default_folder(location: str) -> None:
    """Make the folder of a store if it is the default one."""
    if location == default_store():
        make_folder(Path(location).parent)


def notify_if_local(model: str, base_url: str | None = None) -> None:
    """Print a notice on standard error if no language model was named."""
    if model == "local" and base_url is None:
        print(
            "No language model is configured (--model); using the local methods.", file=sys.stderr
        )


def parse_settings(settings: list[str], option: str = "--set") -> dict[str, str] | None:
    """Return ``NAME=VALUE`` settings as a mapping, None for none. Raises SettingsError."""
    if wrong := [setting for setting in settings if "=" not in setting]:
        example = "retrieved=5" if option == "--set" else "temperature=0.7"
        raise SettingsError(f"{option} {wrong[0]}: write NAME=VALUE, such as {example}")
    return dict(setting.split("=", 1) for setting in settings) or None
