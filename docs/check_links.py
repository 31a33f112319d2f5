"""Every link inside the built site leads somewhere: ``python docs/check_links.py docs/_build/html``.

Sphinx refuses unknown references as it reads them; this looks at what it wrote, templates and galleries included.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to, and the anchors it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name == "id" and value:
                self.anchors.add(value)


def broken_links(root: Path) -> tuple[int, int, list[str]]:
    """Return how many pages there are, how many links inside the site, and those that lead nowhere."""
    pages = {path: Page(path) for path in sorted(root.rglob("*.html"))}
    broken, count = [], 0
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.exists() or (target in pages and anchor not in pages[target].anchors):
                broken.append(f"{path.relative_to(root)}: {link}")
    return len(pages), count, broken


def main() -> None:
    pages, count, broken = broken_links(Path(sys.argv[1]).resolve())
    print(f"{pages} pages, {count:,} links inside the site, {len(broken)} of them broken")
    if broken:
        sys.exit("\n".join(broken))


if __name__ == "__main__":
    main()
