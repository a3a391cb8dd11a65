"""Compose the example collection of incident reports, each with a reference summary.

A report states the made-up facts of an incident in sentences picked from `phrases.toml`. Its
reference states the same facts in other words. The same seed always gives the same bytes.

The script reads `phrases.toml` and writes `items.jsonl`, both in its own folder. It does not
summarise or score anything.
"""

import json
import random
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SEED = 20
REPORTS_PER_KIND = 15
PROMPT = "Summarise this incident report in two sentences.\n\n"

OPTIONAL_ROLES = ("wrong_guess", "lesson", "follow_up")
OPTIONAL_ROLE_CHANCE = 0.6
FEWEST_ASIDES, MOST_ASIDES = 1, 4
KIND_ASIDE_CHANCE = 0.5

FIRST_MINUTE_OF_SHIFT, LAST_MINUTE_OF_SHIFT = 10 * 60, 16 * 60


@dataclass(frozen=True)
class Plan:
    """An order of the sentences of a report; `weight` says how often it is used."""

    weight: int
    opens_with_aside: bool
    roles: list[str]


@dataclass(frozen=True)
class Service:
    """A service that can break, and the words for its users and what they do with it."""

    name: str
    users: str
    action: str
    unit: str


@dataclass(frozen=True)
class Impact:
    """A way in which users are harmed: `told` in the words of reports, `brief` of references."""

    told: list[str]
    brief: str


@dataclass(frozen=True)
class Story:
    """A cause with its fix, each in the words of reports and of references."""

    cause: list[str]
    cause_brief: str
    fix: list[str]
    fix_brief: str
    follow_up: str


@dataclass(frozen=True)
class Kind:
    """A kind of incident: its possible impacts, symptoms, asides and stories."""

    name: str
    impacts: list[str]
    symptoms: list[str]
    chatter: list[str]
    stories: list[Story]


@dataclass(frozen=True)
class Phrases:
    """The contents of `phrases.toml`."""

    teams: list[str]
    regions: list[str]
    people: list[str]
    weekdays: list[str]
    small_numbers: list[str]
    references: list[str]
    shared: dict[str, list[str]]
    plans: list[Plan]
    services: list[Service]
    impacts: dict[str, Impact]
    kinds: list[Kind]


@dataclass(frozen=True)
class Incident:
    """An incident: the phrases chosen for it, and the facts that fill their slots."""

    kind: Kind
    story: Story
    impact: Impact
    facts: dict[str, str]


def load_phrases(path: Path) -> Phrases:
    """Read the phrases from a TOML file."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    plans = [Plan(**row) for row in table.pop("plan")]
    services = [Service(**row) for row in table.pop("service")]
    impacts = {name: Impact(**row) for name, row in table.pop("impact").items()}
    kinds = [Kind(stories=[Story(**story) for story in row.pop("story")], **row) for row in table.pop("kind")]
    return Phrases(plans=plans, services=services, impacts=impacts, kinds=kinds, **table)


def clock(minute_of_day: int) -> str:
    """Write a minute of the day as a time, such as 09:05."""
    return f"{minute_of_day // 60:02}:{minute_of_day % 60:02}"


def draw_times(rng: random.Random) -> dict[str, str]:
    """Draw when an incident starts, is found and ends, and the minutes between these times."""
    start = rng.randint(FIRST_MINUTE_OF_SHIFT, LAST_MINUTE_OF_SHIFT)
    lag = rng.randint(3, 15)
    minutes = lag + rng.randint(12, 110)
    return {
        "start": clock(start),
        "found": clock(start + lag),
        "end": clock(start + minutes),
        "lag": str(lag),
        "minutes": str(minutes),
        "late": str(rng.randint(minutes // 3, minutes)),
    }


def draw_facts(rng: random.Random, phrases: Phrases) -> dict[str, str]:
    """Draw the facts of an incident: a value for each slot that is the same in all sentences."""
    service = rng.choice(phrases.services)
    return draw_times(rng) | {
        "service": service.name,
        "users": service.users,
        "action": service.action,
        "unit": service.unit,
        "team": rng.choice(phrases.teams),
        "region": rng.choice(phrases.regions),
        "weekday": rng.choice(phrases.weekdays),
        "percent": str(rng.randint(6, 70)),
        "count": f"{rng.randint(4, 240) * 100:,}",
        "seconds": str(rng.randint(4, 28)),
        "version": f"{rng.randint(2, 9)}.{rng.randint(0, 30)}.{rng.randint(0, 9)}",
    }


def draw_incident(rng: random.Random, phrases: Phrases, kind: Kind) -> Incident:
    """Draw an incident of the given kind."""
    return Incident(
        kind=kind,
        story=rng.choice(kind.stories),
        impact=phrases.impacts[rng.choice(kind.impacts)],
        facts=draw_facts(rng, phrases),
    )


def start_with_capitals(text: str) -> str:
    """Write the first letter of each sentence as a capital."""
    return re.sub(r"(?:^|(?<=\. ))[a-z]", lambda match: match[0].upper(), text)


def sentences_by_role(rng: random.Random, phrases: Phrases, incident: Incident) -> dict[str, str]:
    """Choose a sentence for each role in the report; its slots are not filled yet."""
    shared = {role: rng.choice(options) for role, options in phrases.shared.items()}
    return shared | {
        "symptom": rng.choice(incident.kind.symptoms),
        "cause": rng.choice(incident.story.cause),
        "impact": rng.choice(incident.impact.told),
        "fix": rng.choice(incident.story.fix),
        "lesson": incident.story.follow_up,
    }


def choose_asides(rng: random.Random, phrases: Phrases, kind: Kind) -> list[str]:
    """Choose the sentences of a report that have no bearing on what happened."""
    of_kind = [text for text in kind.chatter if rng.random() < KIND_ASIDE_CHANCE]
    number = rng.randint(FEWEST_ASIDES, MOST_ASIDES)
    general = rng.sample(phrases.shared["chatter"], number - min(len(of_kind), number))
    asides = of_kind + general
    rng.shuffle(asides)
    return asides


def order_sentences(rng: random.Random, plan: Plan, by_role: dict[str, str], asides: list[str]) -> list[str]:
    """Put the sentences of a report in order, leaving out some of the optional ones."""
    ordered = [
        by_role[role] for role in plan.roles if role not in OPTIONAL_ROLES or rng.random() < OPTIONAL_ROLE_CHANCE
    ]
    first_aside, *later_asides = asides
    place = 0 if plan.opens_with_aside else rng.randint(1, len(ordered))
    ordered.insert(place, first_aside)
    for aside in later_asides:
        ordered.insert(rng.randint(1, len(ordered)), aside)
    return ordered


def compose_report(rng: random.Random, phrases: Phrases, incident: Incident) -> str:
    """Compose the report of an incident."""
    by_role = sentences_by_role(rng, phrases, incident)
    asides = choose_asides(rng, phrases, incident.kind)
    plan = rng.choices(phrases.plans, weights=[plan.weight for plan in phrases.plans])[0]
    people = rng.sample(phrases.people, 2)
    filled = [
        sentence.format(
            **incident.facts,
            person=rng.choice(people),
            few=rng.choice(phrases.small_numbers),
            dozens=rng.randint(12, 59),
        )
        for sentence in order_sentences(rng, plan, by_role, asides)
    ]
    return " ".join(start_with_capitals(sentence) for sentence in filled)


def compose_reference(rng: random.Random, phrases: Phrases, incident: Incident) -> str:
    """Compose the two-sentence summary that serves as the reference."""
    open_text = rng.choice(phrases.references).format(
        cause=incident.story.cause_brief,
        impact=incident.impact.brief,
        fix=incident.story.fix_brief,
        minutes="{minutes}",
    )
    return start_with_capitals(open_text.format(**incident.facts))


def make_items(seed: int, phrases: Phrases) -> Iterator[dict[str, str]]:
    """Yield all items of the collection, with the kinds in random order."""
    rng = random.Random(seed)
    kinds = phrases.kinds * REPORTS_PER_KIND
    rng.shuffle(kinds)
    for number, kind in enumerate(kinds):
        incident = draw_incident(rng, phrases, kind)
        yield {
            "id": f"incident-{number:03}",
            "prompt": PROMPT + compose_report(rng, phrases, incident),
            "reference": compose_reference(rng, phrases, incident),
            "group": kind.name,
        }


def main() -> None:
    """Write `items.jsonl` next to this script."""
    here = Path(__file__).parent
    phrases = load_phrases(here / "phrases.toml")
    with (here / "items.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        for item in make_items(SEED, phrases):
            file.write(json.dumps(item, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
