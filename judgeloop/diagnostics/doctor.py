"""`doctor`: checks a judge's key, server, model, structured output and price with at most one call.

The call compares a right answer with a wrong answer, or rates the right answer. A decision model is asked in both
orders, and each time twice, as nothing else shows whether the order or chance sways it. A system that
answers live is asked the question. The call is reserved and booked in the ledger like any other.
Returns findings, and formats them as text.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from judgeloop.core.ends import OutputEnd
from judgeloop.core.errors import ErrorKind, InputError, JudgeError
from judgeloop.core.money import show_usd
from judgeloop.core.protocols import Judge, System
from judgeloop.core.records import Abstention, Answer, Call, Item, Output, Verdict
from judgeloop.engine.accounts import Accounts
from judgeloop.engine.attempts import Answerer, Attempts, NotAskedError, Reserve
from judgeloop.engine.pace import Pace, RetryPolicy
from judgeloop.engine.state import RunState, Terms
from judgeloop.judges.catalogue import is_decision, judge_from_spec, parse_spec
from judgeloop.ledger.ledger import Ledger
from judgeloop.ledger.opening import open_ledger, place_of
from judgeloop.ledger.records import Reservation, Ticket
from judgeloop.providers.catalogue import likely_model
from judgeloop.providers.pricing import Metered, Renamed, age_sentence, old_prices, today
from judgeloop.report.facts import tokens
from judgeloop.report.terminal import wrapped
from judgeloop.report.words import WIDTH, moves, visible
from judgeloop.runs.inputs import check_ledger
from judgeloop.runs.judging import judge_options
from judgeloop.settings.run_settings import DoctorSettings, JudgeSettings, within_ceiling
from judgeloop.systems.catalogue import FORMS, make_system, source
from judgeloop.systems.options import options_of

RUN = "doctor"
MARKS = {True: "ok", False: "FAILED", None: "note"}
CALL = Call(
    Item("doctor", "What is the capital of France?", reference="The capital of France is Paris."),
    systems=("right", "wrong"),
    outputs=("The capital of France is Paris.", "The capital of France is Berlin, as far as I know."),
)
TOLD = Call(replace(CALL.item, reference=None), ("system",), ())  # of a system
SHOWN = 60  # characters of an output
DECIMALS = 6  # of probabilities that are looked at
RATING = replace(CALL, systems=CALL.systems[:1], outputs=CALL.outputs[:1])


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check, with a sentence on it.

    `what` names the check. `fine` is True if it passed, False if it failed, None for a note.
    """

    what: str
    fine: bool | None
    sentence: str


NO_USAGE = Finding(
    "usage",
    None,
    "the server reports no usage, or fewer tokens than the texts have words, so every call counts at its maximum cost",
)


async def examine(
    config: JudgeSettings, spec: str, environment: Mapping[str, str], *, rating: bool = False
) -> list[Finding]:
    """Check the judge that `spec` names, as a judge that compares or, with `rating`, that rates.

    The checks end at the first failure that makes the others pointless.
    """
    call = RATING if rating else CALL
    try:
        config = within_ceiling(config, environment)
        judge = judge_from_spec(spec, judge_options(config, environment, rating=rating))
    except InputError as error:
        return [Finding("settings", False, str(error))]
    findings = [
        Finding("settings", True, _settings(judge)),
        _price(config, judge, call),
        *_tier(judge, call),
        _place(config),
    ]
    if any(finding.fine is False for finding in findings):
        return findings
    if judge.by_hand or parse_spec(spec)[0].reads_file:
        return [*findings, Finding("verdict", None, "skipped: this judge makes no network calls")]
    answerer = Answerer.judge(judge, config.judge_timeout)
    orders = [call] if rating else [call, replace(call, systems=call.systems[::-1], outputs=call.outputs[::-1])]
    calls = [one for one in orders for _ in range(2)] if is_decision(spec) else [call]
    server, answers = await _booked(config, judge.identity.name, judge, answerer, calls)
    said = [] if not answers else [_verdict(answers[0], call)]
    verdicts = [answer for answer in answers if isinstance(answer, Verdict)]
    if is_decision(spec) and len(verdicts) == len(calls):
        said += _of_decisions(verdicts)
    return [*findings, *server, *_renamed(judge), *said]


async def examine_system(config: DoctorSettings, name: str, environment: Mapping[str, str]) -> list[Finding]:
    """Check the system that answers live and that `name` names, as typed."""
    try:
        config = within_ceiling(config, environment)
        system = _system(config, name, environment)
    except (InputError, ValueError) as error:
        return [Finding("settings", False, str(error))]
    quote = system.quote(TOLD)
    source_of = f", by {quote.price}" if quote.price else ""
    price = Finding("price", True, f"a call costs at most {show_usd(quote.cost_p)}{source_of}")
    if not system.priced:
        needs = f"no price is known, and a budget needs one; give `system={name}.price=IN,OUT`"
        price = Finding("price", None if config.budget is None else False, needs)
    findings = [Finding("settings", True, _limits(name, system)), price, _place(config)]
    if any(finding.fine is False for finding in findings):
        return findings
    server, answers = await _booked(config, name, system, Answerer.system(name, system), [TOLD])
    return [*findings, *server, *_renamed(system), *[_output(system, answer) for answer in answers]]


def _renamed(one: Judge | System) -> list[Finding]:
    """Say what the server calls a model that has the user's price."""
    said = one.price_note if isinstance(one, Renamed) else ""
    return [Finding("price", True, said)] if said else []


async def _booked(
    config: JudgeSettings, name: str, one: Judge | System, answerer: Answerer, calls: Sequence[Call]
) -> tuple[list[Finding], list[Answer | Output]]:
    """Make the calls in turn, and close the judge or system; return what the first showed, and the answers.

    The keys have no earlier answer: what counts is the reply of now. The first call without an answer is the last.
    """
    ledger = open_ledger(config.ledger, config.charge_to)
    shown, answers = list[Finding](), list[Answer | Output]()
    try:
        for call in calls:
            quote, key = one.quote(call), f"{RUN} {uuid.uuid4().hex}"
            note = {"price": quote.price}
            wanted = Reservation(key, quote.cost_p, call.item.id, name, note, output=not isinstance(one, Judge))
            found, answer = await _try(config, ledger, wanted, answerer, call, one=one)
            shown = found if answer is None or not answers else shown
            if answer is None:
                break
            answers.append(answer)
        return shown, answers
    finally:
        await one.aclose()
        await ledger.aclose()


def _system(config: DoctorSettings, name: str, environment: Mapping[str, str]) -> System:
    if not isinstance(source(name), str):
        raise InputError(f"`system={name}`: expected a system that answers live: {FORMS}")
    options = options_of(config.options, config.systems, environment, allow_plugins=config.allow_plugins)
    return make_system(name, options[name])


def _limits(name: str, system: System) -> str:
    """Who is asked, where, and with which limit."""
    known = system.identity.parameters
    where = f" at {known['endpoint']}" if "endpoint" in known else ""
    tokens = known.get("max_output_tokens")
    default = " by default" if system.limit_is_default else ""
    limit = f"{int(tokens):,} tokens of output{default}" if tokens else f"{known['timeout']} s a call"
    return f"{name}: {system.identity.name}{where}; its limit is {limit}"


def _output(system: System, answer: Answer | Output) -> Finding:
    if not isinstance(answer, Output):
        return Finding("output", False, f"there is no output: {answer.reason}")
    output = system.read(answer)
    if output.text is None:
        return Finding("output", False, f"it gave no output: {output.failed}")
    whole = output.ended is OutputEnd.WHOLE
    ended = "it ended by itself" if whole else f"it was {output.ended.said}"
    shown = " ".join(output.text.split())[:SHOWN]
    said = f"{len(output.text):,} characters after {output.seconds:.1f} s; {ended}: {shown!r}"
    return Finding("output", None if not (whole and shown) else True, said)


async def _try(
    config: JudgeSettings, ledger: Ledger, wanted: Reservation, answerer: Answerer, call: Call, *, one: Judge | System
) -> tuple[list[Finding], Answer | Output | None]:
    """Make an attempt, and book it; return what it showed, and the answer if there is one."""
    before = await ledger.spend(RUN, None)
    cap_p = None if config.budget_p is None else before.charged_p + config.budget_p

    async def reserve() -> Ticket | None:
        granted = await ledger.reserve(RUN, [[wanted]], cap_p)
        return granted[0][0] if granted else None

    ticket = await reserve()
    if ticket is None:
        budgets = [f"the {one.title}" for one in await ledger.balances()]
        limit = " or ".join(["`budget`", *(f"what is left of {one}" for one in budgets)])
        may = f"one call may cost {show_usd(wanted.cost_p)}, more than {limit}"
        return [Finding("budget", False, may)], None
    once = RetryPolicy(attempts=1, patience_s=0)
    state = RunState[Any](Terms(RUN, policy=once))
    accounts = Accounts([one] if isinstance(one, Judge) else [], ledger, state)
    # The only item is not to blame.
    attempts = Attempts(answerer, accounts, Pace(1), state, first_items=1)
    try:
        answer = await _attempt(attempts, call, ticket, reserve)
    except (JudgeError, NotAskedError) as error:
        return [Finding("server", False, str(error))], None
    cost = f"; the call cost {show_usd(state.spent_p)}"
    if used := tokens(state.tokens):
        cost += f", for {used}"
    models = "" if _renamed(one) else ", ".join(attempts.models)  # which says it, too
    server = Finding("server", True, f"it answers{f' and calls its model {models}' if models else ''}{cost}")
    reported = (await ledger.spend(RUN, None)).replies_without_usage == before.replies_without_usage
    latest = [
        Finding(
            "version", None, f"{wanted.judge} is a name for the latest model; to ask the same one always, name {model}"
        )
        for model in attempts.models
        if moves(wanted.judge) and not wanted.judge.endswith(model)
    ]
    return [server, *latest, *([] if reported else [NO_USAGE])], answer


async def _attempt(attempts: Attempts, call: Call, ticket: Ticket, reserve: Reserve) -> Answer | Output:
    """Make a single attempt; another if the server refused the form of the first, unbilled."""
    try:
        return await attempts.attempt(call, ticket)
    except JudgeError as error:
        another = await reserve() if error.kind is ErrorKind.CHANGED else None
        if another is None:
            raise
        return await attempts.attempt(call, another)


def _settings(judge: Judge) -> str:
    where = judge.identity.parameters.get("endpoint")
    name = judge.identity.parameters.get("server")
    known = f", known as {name} whatever its address" if name else ""
    return f"{judge.identity.name}{f' at {where}' if where else known}"


def _price(config: JudgeSettings, judge: Judge, call: Call) -> Finding:
    if judge.priced:
        quote = judge.quote(call)
        source = f", by {quote.price}" if quote.price else ""
        now = today()
        age = age_sentence(judge, now)
        return Finding(
            "price",
            None if old_prices([judge], now) else True,
            f"a call of this size costs at most {show_usd(quote.cost_p)}{source}{f'; {age}' if age else ''}",
        )
    return Finding(
        "price",
        None if config.budget is None else False,
        f"no price is known for this model at this address{likely_model(judge.identity)}, "
        "and a budget needs one; give `judge_price=IN,OUT`",
    )


def _tier(judge: Judge, call: Call) -> list[Finding]:
    """Say what the tier asked for is expected to cost; nothing for the standard tier."""
    said = judge.tier_note if isinstance(judge, Metered) else ""
    likely = show_usd(judge.quote(call).likely_cost_p)
    return [Finding("tier", None, f"{said}; a call probably costs {likely}")] if said else []


def _place(config: JudgeSettings) -> Finding:
    """Say what the ledger is kept by and on, and what is wrong with its place."""
    try:
        check_ledger(config)
    except InputError as error:
        return Finding("ledger", False, str(error))
    said, warnings = place_of(config.ledger)
    return Finding("ledger", None if warnings else True, "; ".join([said, *warnings]))


def _verdict(answer: Answer | Output, call: Call) -> Finding:
    assert not isinstance(answer, Output), "a judge gives verdicts"
    rated = len(call.outputs) == 1
    if isinstance(answer, Abstention):
        return Finding("verdict", False, f"the reply is no verdict: {answer.reason}")
    if answer.preference > 0:
        how = f"rated {answer.score:.2f} of 1" if rated else "preferred"
        return Finding("verdict", True, f"well-formed, and the right answer was {how}")
    found = (
        f"it rated the right answer (Paris) {answer.score:.2f} of 1"
        if rated
        else "it did not prefer the right answer (Paris) to the wrong one (Berlin)"
    )
    return Finding("verdict", None, f"well-formed, but {found}")


def _of_decisions(verdicts: Sequence[Verdict]) -> list[Finding]:
    """What the probabilities of a decision model show: each order was asked twice."""
    shares = [{} if one.probabilities is None else dict(one.probabilities) for one in verdicts]
    sums = sorted({round(sum(own.values()), DECIMALS) for own in shares})
    decimals = max(
        len(f"{share:.{DECIMALS}f}".rstrip("0").partition(".")[2]) for own in shares for share in own.values()
    )
    added = " to ".join(dict.fromkeys(f"{total:.4g}" for total in (sums[0], sums[-1])))
    found = [Finding("sum", None, f"the probabilities add up to {added}, with up to {decimals} decimals")]
    apart = max(
        abs(one[option] - other[option]) for one, other in zip(shares[::2], shares[1::2], strict=True) for option in one
    )
    same = "the same request twice gave the same probabilities"
    differ = f"the same request twice gave probabilities that differ by up to {apart:.2g}"
    found.append(Finding("repeat", True if apart < 10**-DECIMALS else None, same if apart < 10**-DECIMALS else differ))
    if len(verdicts) > 2:  # noqa: PLR2004 - a comparison, in two orders
        straight, turned = verdicts[0].preference, -verdicts[2].preference
        said = "the same answer in both orders" if straight == turned else "another answer in the other order: a flip"
        found.append(Finding("orders", True if straight == turned else None, said))
    return found


def render_findings(findings: Sequence[Finding], width: int = WIDTH) -> str:
    """A paragraph for each finding: mark, name and sentence, wrapped to `width` columns."""
    return "\n".join(
        wrapped(visible(finding.sentence), width, before=f"{MARKS[finding.fine]:<8}{finding.what:<10}", after=" " * 18)
        for finding in findings
    )
