"""The settings of a chat model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from theanine.errors import SettingsError
from theanine.suggestion import suggest

Structured = Literal["auto", "prompt", "schema"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """How a chat model writes its replies. None leaves a setting to the provider.

    Attributes:
        temperature: 0 for the likeliest words, more for more variety.
        max_tokens: bound on the output tokens of every reply, in place of the bounds of the steps.
            The bound of a model that replies does not apply where it remembers.
        top_p: share of the probability from which words are chosen.
        frequency_penalty, presence_penalty: less repetition, -2 to 2.
        seed: seed of the model's random choices, where the server takes one.
        structured: how the form of JSON replies is asked for: in the ``prompt``, as a JSON
            ``schema`` of the request, or, with ``auto``, in the prompt and as a schema, until the
            server rejects one.
    """

    temperature: Annotated[float, Field(ge=0)] | None = 0.0
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    seed: int | None = None
    structured: Structured = "auto"

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> ModelSettings:
        """Return settings by name; numbers may be strings, as on the command line.

        Raises SettingsError for an unknown name and a value out of range.
        """
        names = [field.name for field in fields(cls)]
        if unknown := sorted(set(values) - set(names)):
            raise SettingsError(
                f"a model has no setting {unknown[0]}{suggest(unknown[0], names)}; it has: "
                f"{', '.join(names)}"
            )
        try:
            return TypeAdapter(cls).validate_python(dict(values))
        except ValidationError as error:
            first = error.errors()[0]
            raise SettingsError(f"the model's setting {first['loc'][0]}: {first['msg']}") from None


def resolve_settings(settings: ModelSettings | Mapping[str, Any] | None) -> ModelSettings:
    """Return settings given as an object, by name, or not at all. Raises SettingsError."""
    if settings is None:
        return ModelSettings()
    return settings if isinstance(settings, ModelSettings) else ModelSettings.parse(settings)
