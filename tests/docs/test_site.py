"""The site builds without a warning, holds every page, and its links lead somewhere."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from support.pages import DOCS, ROOT

CONFIG = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, folder / "docs")
    shutil.copy(ROOT / "zensical.toml", folder)
    built = subprocess.run(
        [Path(sys.executable).with_name("zensical"), "build", "--strict", "--clean"],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder / "site"


class Links(HTMLParser):
    """The targets of a page's links and pictures, its anchors, and what it loads from elsewhere."""

    def __init__(self):
        super().__init__()
        self.targets, self.anchors, self.loaded = set(), set(), set()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if given.get("id"):
            self.anchors.add(given["id"])
        target = given.get("href") or given.get("src")
        if not target:
            return
        elsewhere = urlsplit(target).scheme or urlsplit(target).netloc
        if not elsewhere:
            self.targets.add(target)
        elif tag not in {"a", "link"} or given.get("rel") == "stylesheet":
            self.loaded.add(target)


@pytest.fixture(scope="module")
def pages(site):
    """The links of each page of the site."""
    found = {}
    for path in sorted(site.rglob("*.html")):
        links = Links()
        links.feed(path.read_text(encoding="utf-8"))
        found[path] = links
    return found


@pytest.mark.processes
def test_every_link_leads_to_a_page_and_an_anchor_of_the_site(site, pages):
    broken = []
    for path, links in pages.items():
        if path.name == "404.html":
            continue
        for target in links.targets:
            parts = urlsplit(target)
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            to = to / "index.html" if to.is_dir() else to
            if (
                not to.is_relative_to(site.resolve())
                or not to.exists()
                or (parts.fragment and to in pages and parts.fragment not in pages[to].anchors)
            ):
                broken.append((path.name, target))
    assert not broken


@pytest.mark.processes
def test_a_page_loads_nothing_from_another_server(pages):
    assert not {target for links in pages.values() for target in links.loaded}


def named(nav):
    """The pages of the navigation, in its order."""
    for entry in nav:
        for value in entry.values():
            if isinstance(value, str):
                yield value
            else:
                yield from named(value)


def test_every_page_stands_in_the_navigation_once():
    listed = list(named(CONFIG["nav"]))
    there = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert sorted(listed) == sorted(there)
