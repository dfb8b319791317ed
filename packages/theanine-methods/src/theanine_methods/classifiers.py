"""Load a trained classifier of the user's own from a folder, with transformers."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal

from theanine.errors import SettingsError


def load_classifier(
    folder: str, kind: Literal["SequenceClassification", "TokenClassification"], what: str
) -> tuple[Any, Any]:
    """Return the tokenizer and the model, in evaluation mode; nothing is downloaded.

    Raises SettingsError, which says ``what`` is missing, for a folder without such a model, or with
    one that has more labels than yes and no.
    """
    library: Any = import_module("transformers")
    try:
        tokenizer = library.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = getattr(library, f"AutoModelFor{kind}").from_pretrained(
            folder, local_files_only=True
        )
    except (OSError, ValueError) as error:
        raise SettingsError(f"{folder} holds no {what}: {error}") from error
    if model.config.num_labels != 2:
        raise SettingsError(f"{folder} has {model.config.num_labels} labels instead of 2")
    return tokenizer, model.eval()
