"""Finds, reads and checks the prompt file for a judge: the user's choice or the default.

Returns a `Template`; `prompt.py` parses and renders templates.
"""

from __future__ import annotations

from pathlib import Path

from judgeloop.core.errors import InputError
from judgeloop.formats.shipped import shipped
from judgeloop.formats.tables import read_text
from judgeloop.judges.prompt import Template, parse_template

# Forms of reply that are a bare label, with the word that the names of their prompts contain.
BARE = {"logprob": "label", "choice": "choice"}


def template_for(
    verdict: str, prompt: str | None, rubric: str | None, *, rating: bool = False
) -> Template:
    """Return the template that `prompt` names, or the default, with `rubric` filled in.

    `verdict` is the form of the reply. `prompt` is the name of a shipped prompt or the path of a
    `.md` file; without it the default depends on `verdict`, `rubric` and `rating`. `rubric` is text
    or the path of a file. The template rates if `rating`, and compares if not.

    Raises:
        InputError: there is no such prompt or rubric, or the prompt does not fit the other
            arguments.
    """
    template = _named_template(verdict, prompt, rubric, "rating" if rating else "pairwise")
    template.check_question(rating=rating)
    if verdict == "logprob" and sorted(template.labels.values()) != [0.0, 1.0]:
        raise InputError(
            "`verdict=logprob` needs a prompt with two labels, scored 1 and 0; "
            f"{template.id} has others"
        )
    bare = template.schema.get("type") == "string"
    if bare != (verdict in BARE):
        fits = (
            "`verdict=choice` or `verdict=logprob`"
            if bare
            else "`verdict=schema` or `verdict=tool`"
        )
        raise InputError(f"`prompt={template.id}` needs {fits}, found `verdict={verdict}`")
    if rubric is None:
        if template.takes_rubric:
            raise InputError(
                f"`prompt={template.id}` has a place for a rubric; give `rubric`, text or a file"
            )
        return template
    if not template.takes_rubric:
        raise InputError(
            f"`rubric`: the prompt {template.id} has no place for a rubric ({{{{rubric}}}})"
        )
    return template.with_rubric(_text_or_file(rubric))


def _named_template(verdict: str, prompt: str | None, rubric: str | None, family: str) -> Template:
    if prompt is None:
        if verdict in BARE:
            return shipped_template(f"{family}-{BARE[verdict]}.v1")
        return shipped_template(f"{family}.v1" if rubric is None else f"{family}-rubric.v1")
    path = Path(prompt)
    if path.suffix == ".md":
        return parse_template(read_text(path), path)
    return shipped_template(prompt)


def _text_or_file(rubric: str) -> str:
    path = Path(rubric)
    try:
        is_file = path.is_file()
    except OSError:  # the text is too long for a path
        is_file = False
    if not is_file and path.suffix in {".md", ".txt"} and " " not in rubric:
        raise InputError(f"`rubric={rubric}`: there is no such file")
    text = read_text(path) if is_file else rubric
    if not text.strip():
        raise InputError("`rubric`: the rubric is empty")
    return text.strip().encode("utf-8", "replace").decode("utf-8")


def shipped_template(name: str) -> Template:
    """Return a prompt that judgeloop ships, by its file's name without the suffix.

    Raises:
        InputError: there is no such prompt; the message lists the prompts.
    """
    folder = shipped("prompts")
    names = sorted(
        entry.name.removesuffix(".md") for entry in folder.iterdir() if entry.name.endswith(".md")
    )
    if name not in names:
        raise InputError(
            f"`prompt={name}`: expected a file ending in .md, or one of {', '.join(names)}"
        )
    return parse_template((folder / f"{name}.md").read_text(encoding="utf-8"), f"{name}.md")
