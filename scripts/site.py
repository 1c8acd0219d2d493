"""Build the documentation as a site, from the same files that are read in the repository.

    uv run --no-default-groups --group docs python scripts/site.py           build site/
    uv run --no-default-groups --group docs python scripts/site.py --check   only check links and anchors

The pages are copied with their folders, so that every relative link means the same in both places; links to
other files of the repository lead to a page with their text. No font or script is loaded from elsewhere. A
broken link or anchor, or an asset from another host, fails the build.
"""

from __future__ import annotations

import logging
import re
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "site"
PAGES = ("*.md", "docs/**/*.md", "bench/**/*.md", "examples/*.md", "src/**/README.md")
SHOWN = (".svg", ".png")
LINK = re.compile(r"(?<=\]\()([^)#\s:]+)(?=[)#])")
FENCED = re.compile(r"^(`{3,}).*?^\1$", re.M | re.S)
REMOTE = re.compile(rb"""<(?:script|link|img|iframe)[^>]*\b(?:src|href)=["']?(?:https?:)?//[^"'> ]+""")
NAV: list[object] = [
    {"Home": "README.md"},
    {"Start": "docs/start.md"},
    {
        "Guides": [
            {"My Claude Code and Codex sessions": "docs/guides/my-sessions.md"},
            {"Inside my agent": "docs/guides/hosts.md"},
            {"My own loop": "docs/guides/loop.md"},
            {"My framework": "docs/guides/frameworks.md"},
            {"A service": "docs/guides/service.md"},
            {"Offline": "docs/guides/offline.md"},
        ]
    },
    {"Cost and prompt caches": "docs/cost.md"},
    {"Troubleshooting": "docs/troubleshooting.md"},
    {"When not to use it": "docs/when-not.md"},
    {"Glossary": "docs/glossary.md"},
    {"All pages": "docs/README.md"},
    {"Commands": "docs/reference/cli.md"},
    {"Python API": "docs/reference/api.md"},
    {"Measurements": "bench/README.md"},
    {"Changes": "CHANGELOG.md"},
]


def pages() -> list[Path]:
    """Return the pages of the site, and their pictures."""
    found = {path for pattern in PAGES for path in ROOT.glob(pattern)}
    pictures = {path for path in (ROOT / "docs").rglob("*") if path.suffix in SHOWN}
    return sorted(path for path in found | pictures if "node_modules" not in path.parts)


def copy_pages(folder: Path) -> None:
    """Copy the pages with their folders; a linked file that is not a page becomes one."""
    for path in pages():
        target = folder / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            target.write_text(_with_pages(path, folder), encoding="utf-8")
        else:
            shutil.copyfile(path, target)


def _with_pages(page: Path, folder: Path) -> str:
    """Return the text of a page; links to source files and folders lead to pages of them."""
    text = page.read_text(encoding="utf-8")
    fenced = [found.span() for found in FENCED.finditer(text)]

    def replaced(link: re.Match[str]) -> str:
        path = (page.parent / link[1]).resolve()
        is_code = any(start <= link.start() < end for start, end in fenced)
        if is_code or path.suffix in (".md", *SHOWN) or not path.is_relative_to(ROOT) or not path.exists():
            return link[1]
        if path.is_dir():
            return f"{link[1].rstrip('/')}/README.md" if (path / "README.md").exists() else link[1]
        shown = folder / path.relative_to(ROOT).with_name(f"{path.name}.md")
        shown.parent.mkdir(parents=True, exist_ok=True)
        source = path.read_text(encoding="utf-8")
        shown.write_text(f"# {path.name}\n\n`````text\n{source}\n`````\n", encoding="utf-8")
        return f"{link[1]}.md"

    return LINK.sub(replaced, text)


def build(folder: Path, site: Path, nav: list[object] | None = None) -> list[str]:
    """Build the site; return what is wrong with it."""
    from mkdocs.commands.build import build as build_site
    from mkdocs.config import load_config

    problems = _Problems()
    logging.getLogger("mkdocs").addHandler(problems)
    check = {"not_found": "warn", "absolute_links": "warn", "anchors": "warn", "unrecognized_links": "warn"}
    config = load_config(
        config_file=str(_write_config(folder, nav or NAV)),
        docs_dir=str(folder / "pages"),
        site_dir=str(site),
        validation={"links": check, "nav": {"omitted_files": "ignore"}},
    )
    build_site(config)
    return [*problems.lines, *_remote_assets(site)]


def _write_config(folder: Path, nav: list[object]) -> Path:
    import yaml

    extensions = ["tables", "admonition", "toc", "pymdownx.superfences", "pymdownx.highlight"]
    palette = [
        {"media": f"(prefers-color-scheme: {name})", "scheme": scheme, "toggle": {"icon": icon, "name": name}}
        for name, scheme, icon in (
            ("light", "default", "material/weather-sunny"),
            ("dark", "slate", "material/weather-night"),
        )
    ]
    config = {
        "site_name": "clew",
        "use_directory_urls": False,  # the site can be opened from a folder
        "theme": {"name": "material", "font": False, "palette": palette, "features": ["content.code.copy"]},
        "plugins": ["search"],
        "markdown_extensions": extensions,
        "nav": nav,
    }
    path = folder / "mkdocs.yml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


class _Problems(logging.Handler):
    """Collects the warnings of a build."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def _remote_assets(site: Path) -> list[str]:
    """Return the assets that pages would load from another host."""
    return [
        f"{page.relative_to(site)} loads {found.decode()}"
        for page in site.rglob("*.html")
        for found in REMOTE.findall(page.read_bytes())
        if b'rel="canonical"' not in found
    ]


def main(arguments: list[str]) -> int:
    """Build or check the site; return 1 if something is wrong with it."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        copy_pages(folder / "pages")
        site = folder / "site" if "--check" in arguments else SITE
        problems = build(folder, site)
        count = sum(1 for _ in site.rglob("*.html"))
    for problem in problems:
        print(f"site: {problem}", file=sys.stderr)
    print(f"site: {count} pages, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
