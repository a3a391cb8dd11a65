"""A task of inspect_ai: two systems answer every item, and a judge is asked in both orders.

    inspect eval benchmarks/live_inspect.py@preferred -T items=FILE -T first=NAME -T second=NAME

`live_seconds.py` runs it. The models are asked at OPENAI_BASE_URL.
"""

from inspect_ai import Task, task
from inspect_ai.dataset import FieldSpec, json_dataset
from inspect_ai.model import get_model
from inspect_ai.scorer import Score, mean, scorer
from inspect_ai.solver import solver

ASKED = "Which answer follows the instruction better? Reply with 0 or 1.\n\n{}\n\n0:\n{}\n\n1:\n{}"


@solver
def both(first, second):  # noqa: ANN001, ANN201
    """Let both systems answer."""

    async def solve(state, generate):  # noqa: ANN001, ANN202
        del generate
        replies = [
            await get_model(f"openai/{name}", responses_api=False).generate(state.input_text)
            for name in (first, second)
        ]
        state.metadata["outputs"] = [reply.completion for reply in replies]
        return state

    return solve


@scorer(metrics=[mean()])
def judged():  # noqa: ANN201
    """Ask the judge in both orders; 1 if it prefers the first both times, 0 if the second."""

    async def score(state, target):  # noqa: ANN001, ANN202
        del target
        shown = state.metadata["outputs"]
        if not all(text.strip() for text in shown) or shown[0] == shown[1]:
            return Score(value=0.5)
        judge = get_model("openai/judge", responses_api=False)
        asked = [ASKED.format(state.input_text, *texts) for texts in (shown, shown[::-1])]
        one, other = [(await judge.generate(text)).completion for text in asked]
        return Score(value=0.5 if one == other else 1.0 - float(one))

    return score


@task
def preferred(items: str, first: str, second: str) -> Task:
    """Compare two systems on all items."""
    fields = FieldSpec(input="prompt", id="id")
    return Task(dataset=json_dataset(items, fields), solver=both(first, second), scorer=judged())
