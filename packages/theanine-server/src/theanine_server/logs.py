"""Logs of the service: lines of text or JSON that say what happened, without anybody's words.

Users are in them by the pseudonyms of the audit log. Of errors that may quote what was said only
the type is written, and of a trace the places in the code.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from pathlib import Path
from traceback import extract_tb
from typing import Any, Literal

from theanine.errors import MissingExtra, SettingsError, StoreError
from theanine.store.sql.audit import Pseudonyms
from theanine.telemetry import current_ids
from theanine.types import Scope
from theanine_server.context import current_request

_QUOTE_NOTHING = (StoreError, SettingsError, MissingExtra, OSError)
"""Errors whose messages never quote what users said; others are logged by type only."""

_pseudonyms: list[Pseudonyms] = []


def use_pseudonyms(pseudonyms: Pseudonyms) -> None:
    """Name users by these from now on."""
    _pseudonyms[:] = [pseudonyms]


def log_config(format: Literal["text", "json"], level: str) -> dict[str, Any]:
    """Return what ``logging.config.dictConfig`` takes: all on standard error."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "text": {"()": f"{__name__}.TextFormatter"},
            "json": {"()": f"{__name__}.JsonFormatter"},
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": format}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            "uvicorn": {"level": level.upper()},
            "theanine": {"level": level.upper() if level == "debug" else "WARNING"},
            "theanine_server": {"level": level.upper()},
        },
    }


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        at = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
            **getattr(record, "fields", {}),
            **_describe_request(),
        }
        if ids := current_ids():
            line["trace_id"], line["span_id"] = ids
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = type(record.exc_info[1]).__name__
            line["trace"] = _places(record.exc_info[1])
        return json.dumps(line, ensure_ascii=False, default=str)


class TextFormatter(logging.Formatter):
    """One line of text, and the places of a trace below it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines of a record."""
        at = datetime.fromtimestamp(record.created, UTC)
        request = _describe_request()
        named = "".join(f" {name}={value}" for name, value in request.items())
        line = f"{at:%Y-%m-%d %H:%M:%S} {record.levelname:<7} {_message(record)}{named}"
        if record.exc_info and record.exc_info[1] is not None:
            places = "".join(f"\n    {place}" for place in _places(record.exc_info[1]))
            line += f"\n  {type(record.exc_info[1]).__name__}{places}"
        return line


def _message(record: logging.LogRecord) -> str:
    args = record.args
    if isinstance(args, tuple):
        args = tuple(_mask(value) for value in args)
    return str(record.msg) % args if args else str(record.msg)


def _mask(value: object) -> object:
    if isinstance(value, Scope):
        return Scope(_pseudonym(value), value.agent, value.tenant)
    if isinstance(value, BaseException) and not isinstance(value, _QUOTE_NOTHING):
        return type(value).__name__
    return value


def _pseudonym(scope: Scope) -> str:
    return _pseudonyms[0].get(scope.tenant, scope.user) if _pseudonyms else "user"


def _describe_request() -> dict[str, str]:
    """Return fields of the request that is being served; none outside of one."""
    request = current_request.get()
    if request is None:
        return {}
    fields = {"request_id": request.id}
    if principal := request.principal:
        fields |= {"key": principal.key, "tenant": principal.tenant}
    else:  # who asks in vain
        fields |= {"client": request.client}
    if request.scope:
        fields |= {"user": _pseudonym(request.scope), "agent": request.scope.agent}
    return fields


def _places(error: BaseException) -> list[str]:
    return [
        f"{Path(frame.filename).name}:{frame.lineno} {frame.name}"
        for frame in extract_tb(error.__traceback__)
    ]
