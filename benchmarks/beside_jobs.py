"""One job, written with each of the tools that `beside.py` compares: rate N items under a limit of dollars.

    python benchmarks/beside_jobs.py run TOOL JOB.json
    python benchmarks/beside_jobs.py found TOOL

Each is written as the tool's documentation shows, and goes on where it was when it is started again.
It is run by the tool's own Python, so a tool is imported where it is used, and nothing else is.
`found` prints the ids of the items whose ratings are kept in the working folder.
"""

from __future__ import annotations

import asyncio
import csv
import io
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

IN_USD, OUT_USD = 15.0, 120.0  # for a million tokens; a rating costs about a cent
MILLION = 1e6
MAX_TOKENS = 100
ASKED = 'Rate the answer to the task from 1 to 10. Reply with one JSON object: {"reason": …, "rating": …}'
ATTEMPTS = 6
SPENT = "Budget has been exceeded"  # what the proxy says when no money is left


@dataclass(frozen=True)
class Job:
    """A job, or one of several processes' share of it; its files are in the working folder."""

    url: str
    key: str
    items: list[dict[str, str]]  # with id, prompt and output
    limit: float  # dollars
    in_flight: int
    timeout: float  # seconds until a call is given up
    part: int  # number of the process


def messages(item: dict[str, str]) -> list[dict[str, str]]:
    """Return the messages about an item."""
    about = f"Task: {item['prompt']}\nAnswer: {item['output']}"
    return [{"role": "system", "content": ASKED}, {"role": "user", "content": about}]


def kept(path: Path) -> list[dict[str, Any]]:
    """Return the results of a script in a JSONL file; a last line that was cut off counts as none."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


async def script(job: Job, ask: Callable[[dict[str, str]], Awaitable[dict[str, Any] | None]]) -> None:
    """Ask about all items that have no result yet, so many at a time; append each result to a file.

    `ask` returns an item's result, or None if there is no money for it.
    """
    path = Path(f"results-{job.part}.jsonl")
    done = {row["id"] for row in kept(path)}
    semaphore = asyncio.Semaphore(job.in_flight)

    async def one(item: dict[str, str]) -> None:
        async with semaphore:
            result = await ask(item)
        if result is not None:
            with path.open("a", encoding="utf-8") as file:  # noqa: ASYNC230 - a line, as scripts do
                file.write(json.dumps({"id": item["id"]} | result) + "\n")

    await asyncio.gather(*(one(item) for item in job.items if item["id"] not in done))


def asking(job: Job) -> Callable[[dict[str, str]], Awaitable[Any]]:
    """Return a call of the SDK with tenacity's retries, but for the answer that no money is left."""
    # https://cookbook.openai.com/examples/how_to_handle_rate_limits (the decorator)
    # https://tenacity.readthedocs.io/en/latest/#whether-to-retry
    import openai
    import tenacity

    server = {"base_url": job.url, "api_key": job.key}
    client = openai.AsyncOpenAI(**server, timeout=job.timeout, max_retries=0)
    money_is_left = tenacity.retry_if_exception(lambda error: SPENT not in str(error))

    @tenacity.retry(
        wait=tenacity.wait_random_exponential(min=1, max=60), stop=tenacity.stop_after_attempt(ATTEMPTS),
        retry=tenacity.retry_if_exception_type() & money_is_left, reraise=True,
    )  # fmt: skip
    async def ask(item: dict[str, str]) -> Any:
        return await client.chat.completions.create(model="judge", messages=messages(item), max_tokens=MAX_TOKENS)

    return ask


async def plain(job: Job) -> None:
    """Tenacity and the SDK, with a running sum that is checked before each call."""
    spent = sum(row["usd"] for row in kept(Path(f"results-{job.part}.jsonl")))
    call = asking(job)

    async def ask(item: dict[str, str]) -> dict[str, Any] | None:
        nonlocal spent
        if spent >= job.limit:
            return None
        reply = await call(item)
        used = reply.usage
        usd = (used.prompt_tokens * IN_USD + used.completion_tokens * OUT_USD) / MILLION
        spent += usd
        return {"said": reply.choices[0].message.content, "usd": usd}

    await script(job, ask)


async def budget_manager(job: Job) -> None:
    """BudgetManager of litellm; it keeps its sums in `user_cost.json`, and all processes use that file."""
    # https://docs.litellm.ai/docs/budget_manager
    # https://docs.litellm.ai/docs/completion/token_usage#9-register_model (the price)
    # https://docs.litellm.ai/docs/completion/reliable_completions (num_retries)
    import litellm

    price = {"input_cost_per_token": IN_USD / MILLION, "output_cost_per_token": OUT_USD / MILLION}
    litellm.register_model({"openai/judge": price | {"litellm_provider": "openai", "mode": "chat"}})
    manager = litellm.BudgetManager(project_name="beside")
    if not manager.is_valid_user("team"):
        manager.create_budget(total_budget=job.limit, user="team")

    async def ask(item: dict[str, str]) -> dict[str, Any] | None:
        if manager.get_current_cost(user="team") > manager.get_total_budget("team"):
            return None
        reply = await litellm.acompletion(
            model="openai/judge", api_base=job.url, api_key=job.key, messages=messages(item),
            max_tokens=MAX_TOKENS, timeout=job.timeout, num_retries=ATTEMPTS - 1,
        )  # fmt: skip
        manager.update_cost(completion_obj=reply, user="team")
        return {"said": reply.choices[0].message.content}

    await script(job, ask)


async def proxy(job: Job) -> None:
    """The SDK through litellm's proxy, which keeps the budget (`served`, in `beside.py`)."""
    import openai

    call = asking(job)

    async def ask(item: dict[str, str]) -> dict[str, Any] | None:
        try:
            reply = await call(item)
        except openai.APIStatusError as error:
            if SPENT in str(error):
                return None
            raise
        return {"said": reply.choices[0].message.content}

    await script(job, ask)


def inspect_ai(job: Job) -> None:
    """inspect_ai's eval set, within its scoped limit of cost.

    `Task(cost_limit=…)` limits each item by itself, so the scoped limit is put around the whole.
    """
    # https://inspect.aisi.org.uk/setting-limits.html (scoped limits, cost limit)
    # https://inspect.aisi.org.uk/eval-sets.html
    from inspect_ai import Task, dataset, eval_set, model, solver, task, util

    cost = model.ModelCost(input=IN_USD, output=OUT_USD, input_cache_write=0, input_cache_read=0)
    model.set_model_info("openai/judge", model.ModelInfo(cost=cost))
    kinds = {"system": model.ChatMessageSystem, "user": model.ChatMessageUser}
    samples = [
        dataset.Sample([kinds[one["role"]](content=one["content"]) for one in messages(item)], id=item["id"])
        for item in job.items
    ]  # fmt: skip

    @task
    def judging() -> Task:
        return Task(dataset=dataset.MemoryDataset(samples), solver=solver.generate())

    config = model.GenerateSettings(
        max_connections=job.in_flight, max_tokens=MAX_TOKENS, max_retries=ATTEMPTS - 1, attempt_timeout=round(job.timeout)
    )  # fmt: skip
    server = {"base_url": job.url, "api_key": job.key, "responses_api": False}
    judge = model.get_model("openai/judge", config=config, **server)
    folder = f"logs-{job.part}"
    left = max(0.0, job.limit - sum(usd for _, usd in samples_of(folder)))
    with util.cost_limit(left):
        eval_set(
            [judging()], folder, model=judge, max_samples=job.in_flight, retry_attempts=2, display="none"
        )  # fmt: skip


def samples_of(folder: str) -> list[tuple[str, float]]:
    """Return each answered sample in inspect_ai's logs, and what it cost; with those of a crashed run."""
    # https://inspect.aisi.org.uk/handling-errors.html#python-api
    from inspect_ai import log

    if not Path(folder).exists():
        return []
    crashed = {each.log.name for each in log.recoverable_eval_logs(folder)}
    logs = [
        log.recover_eval_log(each.name, output=f"recovered-{folder}.eval", overwrite=True)
        if each.name in crashed else log.read_eval_log(each)
        for each in log.list_eval_logs(folder)
    ]  # fmt: skip
    samples = [each for one in logs for each in one.samples or [] if each.output.completion]
    used = {str(each.id): each.model_usage.values() for each in samples}
    return [(name, sum(one.total_cost or 0.0 for one in usage)) for name, usage in used.items()]


def judgeloop(job: Job) -> None:
    """judgeloop, each process on a file of its own; the ledger and its budget are shared."""
    # docs/how-to/team.md
    import judgeloop as library

    said = library.estimate(
        job.items, judge="openai/judge", judge_base_url=job.url, judge_price=f"{IN_USD},{OUT_USD}",
        judge_max_tokens=MAX_TOKENS, judge_timeout=job.timeout, budget=f"{job.limit}", concurrency=job.in_flight,
        max_judgments=len(job.items), ledger="ledger.sqlite",
    )  # fmt: skip
    print(said, file=sys.stderr)


def found(tool: str) -> list[str]:
    """Return the items whose ratings are kept in the working folder."""
    if tool == "inspect_ai":
        return [item for path in sorted(Path().glob("logs-*")) for item, _ in samples_of(str(path))]
    if tool == "judgeloop":
        command = [sys.executable, "-m", "judgeloop", "ledger", "export", "--ledger", "ledger.sqlite"]
        rows = csv.DictReader(io.StringIO(subprocess.check_output(command, text=True)))
        return [row["item_id"] for row in rows if row["state"] == "settled"]
    return [row["id"] for path in Path().glob("results-*.jsonl") for row in kept(path)]


JOBS = {each.__name__: each for each in (plain, budget_manager, proxy, inspect_ai, judgeloop)}


def main() -> None:
    """Run a job, or print what was found."""
    what, tool, *path = sys.argv[1:]
    if what == "found":
        print(json.dumps(found(tool)))
        return
    job = Job(**json.loads(Path(path[0]).read_text(encoding="utf-8")))
    running = JOBS[tool](job)
    if running is not None:
        asyncio.run(running)


if __name__ == "__main__":
    main()
