"""Prompt files: the one that a configuration names, or the one that suits it, read and checked against what is asked of it.

What a template is, and how it is filled in, stands in `judges/prompting.py`.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from judgeloop.core.errors import InputError
from judgeloop.formats.tables import read_text
from judgeloop.judges.prompt import Template, parse_template
from judgeloop.run.settings import JudgeSettings


def template_for(config: JudgeSettings, *, rating: bool = False) -> Template:
    """The prompt that a configuration names, or the one that suits it, with its rubric: to compare, or for a `rating`.

    Raises:
        InputError: it is not there, or does not suit what is asked of it.
    """
    template = _named_template(config, "rating" if rating else "pairwise")
    template.check_question(rating=rating)
    if config.verdict == "logprob" and sorted(template.labels.values()) != [0.0, 1.0]:
        raise InputError(
            f"--verdict logprob needs a prompt with two labels, scored 1 and 0; {template.id} has others"
        )
    bare = template.schema.get("type") == "string"
    if bare != (config.verdict in {"logprob", "choice"}):
        fits = "--verdict choice or logprob" if bare else "--verdict schema or tool"
        raise InputError(
            f"--prompt {template.id} asks for a reply that goes with {fits}, found {config.verdict}"
        )
    if config.rubric is None:
        if template.takes_rubric:
            raise InputError(
                f"--prompt {template.id} has a place for a rubric; give --rubric TEXT or FILE"
            )
        return template
    if not template.takes_rubric:
        raise InputError(
            f"--rubric: the prompt {template.id} has no place for a rubric ({{{{rubric}}}})"
        )
    return template.with_rubric(_text_or_file(config.rubric))


def _named_template(config: JudgeSettings, family: str) -> Template:
    if config.prompt is None:
        if config.verdict in {"logprob", "choice"}:
            kind = "label" if config.verdict == "logprob" else "choice"
            return shipped_template(f"{family}-{kind}.v1")
        return shipped_template(f"{family}.v1" if config.rubric is None else f"{family}-rubric.v1")
    path = Path(config.prompt)
    if path.suffix == ".md":
        return parse_template(read_text(path), path)
    return shipped_template(config.prompt)


def _text_or_file(rubric: str) -> str:
    path = Path(rubric)
    try:
        is_file = path.is_file()
    except OSError:  # too long for a path
        is_file = False
    if not is_file and path.suffix in {".md", ".txt"} and " " not in rubric:
        raise InputError(f"--rubric {rubric}: there is no such file")
    text = read_text(path) if is_file else rubric
    if not text.strip():
        raise InputError("--rubric: the rubric is empty")
    return text.strip().encode("utf-8", "replace").decode("utf-8")


def shipped_template(name: str) -> Template:
    """A prompt of judgeloop's own, by its file's name without the ending.

    Raises:
        InputError: there is none of that name; lists those there are.
    """
    installed = files("judgeloop") / "_prompts"
    beside = Path(__file__).parent.parent.parent / "prompts"  # a checkout, installed editable
    folder = installed if installed.is_dir() else beside
    names = sorted(
        entry.name.removesuffix(".md") for entry in folder.iterdir() if entry.name.endswith(".md")
    )
    if name not in names:
        raise InputError(
            f"--prompt {name}: expected a file ending in .md, or one of {', '.join(names)}"
        )
    return parse_template((folder / f"{name}.md").read_text(encoding="utf-8"), f"{name}.md")
