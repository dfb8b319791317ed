"""Commands that are imported only when they run, so that ``theanine --help`` starts fast."""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from theanine.errors import CommandFailedToLoad, TheanineError, UserError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from pydantic import ValidationError

Command = TyperCommand | TyperGroup


class LazyCommand(TyperCommand):
    """Stand-in for a command; imports the command's module when the command runs.

    Args:
        name: the command's name.
        target: ``module:attribute`` of a function, a ``typer.Typer`` or a command object.
        summary: the command's line in the list of commands. It must equal the first line of the
            command's own help.
    """

    def __init__(self, name: str, target: str, summary: str, *, hidden: bool = False) -> None:
        super().__init__(name, help=summary, hidden=hidden, rich_markup_mode=None)
        self.target = target
        self._loaded: Command | None = None

    def load(self) -> Command:
        """Import and return the real command."""
        if self._loaded is None:
            module, _, attribute = self.target.partition(":")
            target = getattr(import_module(module), attribute)
            self._loaded = _as_command(target, self.name or attribute)
        return self._loaded

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Return a context of the real command, which is therefore what runs."""
        return self.load().make_context(info_name, args, parent=parent, **extra)


class PluginCommand(LazyCommand):
    """Command of another package, registered in the entry-point group ``theanine.commands``.

    Its line in the list of commands is the first line of its module's docstring, which is read
    without importing the module.
    """

    def __init__(self, entry_point: EntryPoint) -> None:
        super().__init__(entry_point.name, entry_point.value, "")
        self.package = entry_point.dist.name if entry_point.dist else entry_point.module

    def get_short_help_str(self, limit: int = 45) -> str:
        self.help = docstring_line(self.target.partition(":")[0]) or f"From {self.package}."
        return super().get_short_help_str(limit)

    def load(self) -> Command:
        """Import and return the real command. Raises CommandFailedToLoad."""
        try:
            return super().load()
        except TheanineError:
            raise
        except Exception as error:  # any code of another package may run here
            raise CommandFailedToLoad(
                f"`theanine {self.name}` of the package {self.package} can't be loaded "
                f"({type(error).__name__}: {error}); update or reinstall {self.package}"
            ) from error


class MissingCommand(LazyCommand):
    """Command of a package that isn't installed; not listed, and says how to get it.

    Args:
        name: the command's name.
        error: what is raised when the command is called.
    """

    def __init__(self, name: str, error: UserError) -> None:
        super().__init__(name, "", "", hidden=True)
        self.error = error

    def load(self) -> Command:
        """Raises UserError."""
        raise self.error


class _LazyGroup(TyperGroup):
    first: tuple[LazyCommand, ...]
    find_rest: Callable[[], Iterable[LazyCommand]]

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._has_rest = False
        for command in self.first:
            self.add_command(command)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            self._add_rest()
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        self._add_rest()
        return super().list_commands(ctx)

    def _add_rest(self) -> None:
        if not self._has_rest:
            self._has_rest = True
            for command in self.find_rest():
                self.add_command(command)

    def make_context(self, *args: Any, **extra: Any) -> Any:
        with _plain_messages():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        with _plain_messages():  # commands of this group parse their options here
            return super().invoke(ctx)


def lazy_app(
    commands: Iterable[LazyCommand],
    help: str,
    *,
    root: Callable[..., None] | None = None,
    find_others: Callable[[], Iterable[LazyCommand]] = tuple,
) -> typer.Typer:
    """Return a group of lazily imported commands, listed in the order given.

    Args:
        commands: the first commands of the list.
        help: what the group is for.
        root: has the options of the whole command line, such as ``--version``, and runs first.
        find_others: returns the others, which takes long and is done only if one is asked for
            or all are listed.
    """

    class Group(_LazyGroup):
        first = tuple(commands)
        find_rest = staticmethod(find_others)

    return typer.Typer(
        cls=Group,
        callback=root or (lambda: None),  # makes typer build a group of no registered command
        add_completion=root is not None,
        no_args_is_help=True,
        rich_markup_mode=None,  # plain help: examples keep their lines, and it starts faster
        pretty_exceptions_enable=False,
        help=help,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


@contextmanager
def _plain_messages() -> Generator[None]:
    """Say in the words of a command line what is wrong with an option's name or value."""
    try:
        yield
    except typer.BadParameter as error:
        from pydantic import ValidationError  # typer has loaded it by now, but not for --help

        if isinstance(error.__cause__, ValidationError):
            error.message = _describe(error.__cause__)
        raise
    except Exception as error:
        if names := getattr(error, "possibilities", None):  # of an unknown option, the best first
            unknown: Any = error  # typer has no public name for the error
            unknown.message = f"{unknown.message} (did you mean {names[0]}?)"
            unknown.possibilities = None
        raise


def _describe(error: ValidationError) -> str:
    """Return what is wrong with an option's value."""
    first = error.errors()[0]
    value, kind, limits = first["input"], first["type"], first.get("ctx", {})
    if kind == "greater_than_equal":
        return f"{value}: it must be at least {limits['ge']:g}"
    if kind == "less_than_equal":
        return f"{value}: it must be at most {limits['le']:g}"
    if kind.startswith("int_"):
        return f"{value!r} is not a whole number"
    if kind.startswith("float_"):
        return f"{value!r} is not a number"
    if kind.startswith(("date_", "datetime_")):
        return f"{value!r} is not a date; write it as 2024-05-08"
    return first["msg"]


def docstring_line(module: str) -> str:
    """Return the first docstring line of a module that isn't imported; empty if not found."""
    path: Sequence[str] | None = None
    spec = None
    for position in range(module.count(".") + 1):
        name = ".".join(module.split(".")[: position + 1])
        spec = PathFinder.find_spec(name, path)
        if spec is None:
            return ""
        path = spec.submodule_search_locations
    if spec is None or spec.origin is None:
        return ""
    with suppress(OSError, SyntaxError, UnicodeDecodeError):
        document = ast.get_docstring(ast.parse(Path(spec.origin).read_text("utf-8")))
        return (document or "").partition("\n")[0]
    return ""


def _as_command(loaded: object, name: str) -> Command:
    if isinstance(loaded, Command):
        return loaded
    app = typer.Typer(rich_markup_mode=None)
    if isinstance(loaded, typer.Typer):
        app.add_typer(loaded, name=name)
    else:
        app.command(name=name)(cast("Any", loaded))
    return cast("Command", get_group(app).commands[name])
