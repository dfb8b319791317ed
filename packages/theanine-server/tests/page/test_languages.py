"""The page in each of its languages, also in one that is written from the right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from page.conftest import DESKTOP, PHONE, OpenPage
from page.test_accessibility import find_violations
from support.browser import needs_browser

pytestmark = [pytest.mark.browser, needs_browser]
Serve = Callable[[str | Path], OpenPage]
HOME = {
    "en-US": "Home",
    "de-DE": "Übersicht",
    "es-ES": "Inicio",
    "fr-FR": "Accueil",
    "ar-EG": "الرئيسية",
}


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("language", HOME)
def test_every_language_fits(
    serve_page: Serve, demo_store: str, language: str, size: tuple[int, int]
) -> None:
    page = serve_page(demo_store)("home?user=ana", language=language, size=size)
    link = page.locator("header nav a").first
    expect(link).to_have_text(HOME[language])
    code, _, _ = language.partition("-")
    root = page.locator("html")
    expect(root).to_have_attribute("lang", code)
    expect(root).to_have_attribute("dir", "rtl" if code == "ar" else "ltr")
    for route in ("home", "conversations?session=6", "timelines", "entity?entity=Lucija"):
        page.evaluate("hash => { location.hash = hash; }", f"#/{route}")
        expect(page.locator(f"main.view-{route.partition('?')[0]}")).to_be_visible()
        expect(page.locator(".loading")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth") == size[0], route
    assert find_violations(page) == []


def test_what_is_written_the_other_way_is_kept_apart(serve_page: Serve, demo_store: str) -> None:
    page = serve_page(demo_store)("home?user=ana", language="ar-EG")
    said = page.locator(".home .words").first
    expect(said).to_have_css("direction", "ltr")
    first, second = page.locator("header nav a").nth(0), page.locator("header nav a").nth(1)
    one, other = first.bounding_box(), second.bounding_box()
    assert one and other and one["x"] > other["x"], "the first view is at the right"
    page.get_by_role("button", name="الإعدادات").click()
    page.get_by_label("اللغة").select_option("fr")
    expect(page.locator("html")).to_have_attribute("dir", "ltr")
