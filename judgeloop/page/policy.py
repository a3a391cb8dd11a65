"""The page as one file, and the policy under which a browser shows it: its own script and style by their hashes."""

import base64
import hashlib
from importlib.resources import files


def page_and_policy() -> tuple[str, str]:
    """The page, the same for all, and its Content-Security-Policy."""
    folder = files("judgeloop.page") / "web"
    html, style, script = ((folder / f"judge.{end}").read_text(encoding="utf-8") for end in ("html", "css", "js"))
    page = html.replace("<style></style>", f"<style>{style}</style>").replace(
        "<script></script>", f"<script>{script}</script>"
    )
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    )
    return page, policy


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
