"""Self-contained pages: one template, one look, no requests to anywhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import cast

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

_SHARED_SCRIPTS = ("vendor/uPlot.iife.min.js", "page.js", "charts.js")


def static_folder() -> Path:
    """Return the folder of style sheets and scripts, for a server of pages."""
    return Path(str(files("theanine_bench.report").joinpath("static")))


@cache
def read_static(name: str) -> str:
    """Return the text of a file in ``static/``."""
    return (static_folder() / name).read_text("utf-8")


@cache
def page_templates() -> Environment:
    """Return the templates of reports and rating pages; each extends ``base.html``."""
    templates = Environment(
        loader=PackageLoader("theanine_bench.report"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Keys stay in their order: tables and legends follow it.
    templates.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    style = Markup(read_static("vendor/uPlot.min.css") + read_static("report.css"))
    cast("dict[str, object]", templates.globals)["style"] = style
    return templates


def render_page(template: str, *, title: str, data: object, scripts: Sequence[str]) -> str:
    """Return a report as one HTML text.

    ``data`` is JSON-ready and goes in as JSON: recorded words never become markup or script.
    ``scripts`` name files of ``static/``, run after the shared ones. The page's content policy
    allows these scripts, by their hashes, and no request at all.
    """
    texts = [read_static(name) for name in (*_SHARED_SCRIPTS, *scripts)]
    hashes = " ".join(map(_source_hash, texts))
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src 'unsafe-inline'; script-src {hashes}"
    )
    return (
        page_templates()
        .get_template(template)
        .render(
            title=title, policy=Markup(policy), data=data, scripts=[Markup(text) for text in texts]
        )
    )


def _source_hash(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"'sha256-{digest}'"
