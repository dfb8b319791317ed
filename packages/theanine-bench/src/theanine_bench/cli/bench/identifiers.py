"""Measure whether near numbers, codes and names are told apart."""

from __future__ import annotations

from theanine.cli.options import EmbedderOption, JsonOption
from theanine_bench.cli.asked import DEFAULT, AskedArgument, MethodOption, show_words
from theanine_bench.cli.run_options import run_command


@run_command
def identifiers(
    data: AskedArgument,
    method: MethodOption = DEFAULT,
    *,
    embedder: EmbedderOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Measure whether near numbers, codes and names are told apart.

    DATA has cases of a recall: words that it must have and must not have, or that it is empty.

    \b
    theanine bench identifiers cases/identifiers/
    """
    show_words(data, method, embedder=embedder, json=as_json)
