"""The recipes for gateways and for servers of one's own, each against a server in its form.

The commands stand on the pages. Here their addresses are replaced by a server on loopback, and what
they print is compared with the page.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from support.chat_server import ChatServer, Response, completion
from support.gateways import Azure, Bedrock, Google, Ollama, OpenRouter, completed
from support.pages import DOCS, blocks

from judgeloop.providers.pricing import price_from_text, published_price, renamed

GATEWAYS, OPEN = DOCS / "how-to" / "gateways.md", DOCS / "how-to" / "open-models.md"
ADDRESS = re.compile(r"https?://[a-z0-9.-]+(?::\d+)?(?=/)")
LISTED = re.compile(r", which is listed at .*?; your price is booked")  # at the address on the page, not on loopback
GCLOUD = "#!/bin/sh\necho token-of-an-hour\n"


def azure(request, number):
    """A newer model, which knows the newer name of the limit only."""
    return Azure.other_limit if "max_tokens" in request else Azure.reply


def vllm(request, number):
    """Obeys its field for structured outputs."""
    choices = request["structured_outputs"].get("choice")
    return completion(choices[0]) if choices else completed(model="org/judge")


def always(response):
    return lambda request, number: response


# By the page and the heading: what the server answers, and where and with which key it is asked.
RECIPES = {
    (GATEWAYS, "Azure OpenAI"): (azure, "/openai/v1", "key-of-the-azure-resource"),
    (GATEWAYS, "Amazon Bedrock"): (always(Bedrock.reply), "/openai/v1", "bedrock-api-key"),
    (GATEWAYS, "Gemini"): (always(Google.reply), "/v1beta/openai", "key-of-google-ai-studio"),
    (GATEWAYS, "Vertex AI"): (always(Google.reply),
        "/v1/projects/my-project/locations/us-central1/endpoints/openapi", "token-of-an-hour"),
    (GATEWAYS, "OpenRouter"): (always(OpenRouter.costing(0.0004)), "/api/v1", "key-of-openrouter"),
    (GATEWAYS, "A LiteLLM proxy"): (always(completed(model="claude-on-bedrock")), "/v1", "virtual-key-of-the-proxy"),
    (OPEN, "vLLM"): (vllm, "/v1", "none"),
    (OPEN, "Ollama"): (always(Ollama.thinking), "/v1", "none"),
}  # fmt: skip


@pytest.fixture
def server():
    made = ChatServer()
    models = Response(body=json.dumps({"data": [{"id": "org/judge"}]}).encode())
    made.pages = {"/v1/models": models}
    yield made
    made.close()


def section(page, heading):
    """The text below a heading."""
    text = page.read_text(encoding="utf-8")
    return re.split(r"^## ", text.partition(f"## {heading}\n")[2], flags=re.MULTILINE)[0]


def commands(text):
    """The commands of a console block, and what the page shows under them."""
    lines = text.splitlines()
    typed = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    return "\n".join(typed), "\n".join(line for line in lines if not line.startswith("$ "))


def printed(typed, server, folder):
    """What the commands print, as if the server were at the address on the page."""
    (original,) = set(ADDRESS.findall(typed))
    (folder / "gcloud").write_text(GCLOUD, encoding="utf-8")
    (folder / "gcloud").chmod(0o755)
    path = os.pathsep.join([str(folder), str(Path(sys.executable).parent), os.environ["PATH"]])
    kept = {name: value for name, value in os.environ.items() if "API_KEY" not in name}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", typed.replace(original, server.root)],
        cwd=folder,
        env=kept | {"PATH": path, "COLUMNS": "100"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.replace(server.root, original)


def anywhere(text):
    """What `doctor` shows, without line breaks and what one machine has: SQLite, file system."""
    return " ".join(re.sub(r"SQLite [\d.]+, (\S+) on .*", r"SQLite, \1", text).split())


@pytest.mark.processes
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe[1])
def test_a_recipe_works_with_a_server_in_its_form(recipe, server, tmp_path):
    server.respond, path, key = RECIPES[recipe]
    block = re.search(r"```console\n(.*?)```", section(*recipe), re.DOTALL)
    typed, shown = commands(block[1])
    assert anywhere(printed(typed, server, tmp_path)) == LISTED.sub("", anywhere(shown))
    assert set(server.paths) == {f"{path}/chat/completions"}
    assert {headers["authorization"] for headers in server.headers} == {f"Bearer {key}"}


def test_a_list_price_on_the_page_is_that_at_its_address():
    typed, shown = commands(re.search(r"```console\n(.*?)```", section(GATEWAYS, "Azure OpenAI"), re.DOTALL)[1])
    model, price = re.search(r"--judge openai/(\S+).* --judge-price (\S+)", typed).groups()
    (address,) = ADDRESS.findall(typed)
    known = partial(published_price, base_url=f"{address}/openai/v1")
    said = renamed(model, "gpt-4.1-2025-04-14", price_from_text(price), known)
    assert said in anywhere(shown)
    assert LISTED.search(said)


def test_every_console_block_of_the_two_pages_is_a_recipe():
    for page in (GATEWAYS, OPEN):
        shown = [block for block in blocks(page) if block.language == "console"]
        assert len(shown) == sum(known is page for known, _ in RECIPES)


@pytest.mark.parametrize(
    ("model", "url", "known"),
    [
        ("gpt-4.1-mini", "https://my-resource.openai.azure.com/openai/v1", True),
        ("my-deployment", "https://my-resource.openai.azure.com/openai/v1", False),
        ("openai.gpt-oss-20b-1:0", "https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1", True),
        ("openai.gpt-oss-120b", "https://bedrock-mantle.us-west-2.api.aws/v1", False),
        ("gemini-2.5-flash", "https://generativelanguage.googleapis.com/v1beta/openai", True),
        ("google/gemini-2.5-flash", "https://us-central1-aiplatform.googleapis.com/v1/projects/p", False),
        ("openai/gpt-4.1-mini", "https://openrouter.ai/api/v1", True),
        ("claude-on-bedrock", "http://localhost:4000/v1", False),
    ],
)  # fmt: skip
def test_a_price_is_published_where_the_page_says_so(model, url, known):
    assert (published_price(model, base_url=url) is not None) == known
