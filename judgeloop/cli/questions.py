"""Makes the command of a question: it reads settings, and prints a result or a forecast.

All questions are handled alike (`questions/catalogue.py`). What answers them is imported only when
the command runs.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import click

from judgeloop.cli.options import DETAILS, OF_RUNS, settings_command
from judgeloop.cli.output import TYPED, all_of_it, as_flags, columns, kept_for_the_result, logs_json, paint, say, show
from judgeloop.core.memory import uncollected
from judgeloop.core.money import show_usd
from judgeloop.questions.catalogue import QuestionRow, R
from judgeloop.report.words import count, shortened, visible
from judgeloop.settings.setting import COMMAND_LINE
from judgeloop.settings.sources import RESULT_FILE

if TYPE_CHECKING:
    from judgeloop.engine.state import Interruption, Observe
    from judgeloop.ledger.opening import Address
    from judgeloop.report.result import RunResult
    from judgeloop.runs.forecast import Forecast
    from judgeloop.runs.prepared import Prepared
    from judgeloop.settings.sources import Read


T = TypeVar("T")
Shown = TypeVar("Shown", bound="RunResult")

FEW, MOST_NAMED = 2, 8  # systems joined by a word, and systems that the opening line of a log names
LONGEST_NAME = 60  # characters

EXITS = (
    "Exit codes: 0 decided, 1 error, 2 usage, 3 undecided, 4 the judge or a system failed, {gates}130 interrupted, 141 "
    "standard output was closed. Rerun the command to continue the run; no verdict is paid twice, unless another model "
    "answers behind the judge of a gate."
)


def command_of(question: QuestionRow[Any, Any]) -> click.Command:
    """The command of a question; its help says what it does, has an example, and the exit codes."""
    example = f"\b\nExample:\n  judgeloop {question.name} {question.example}"
    exits = EXITS.format(gates=f"5 a gate failed ({question.gates}), " if question.gates else "")
    text = "\n\n".join([question.help, *([example] if question.example else []), exits])
    return settings_command(
        question.name, Asking(question).invoked, question.settings(), switches=(*OF_RUNS, DETAILS), text=text
    )


@dataclass(frozen=True, slots=True)
class Asking(Generic[R]):
    """The callback of a question's command."""

    question: QuestionRow[Any, R]

    def with_flags(self, result: Shown, read: Read) -> Shown:
        """A result with flags for settings in its page and its abstentions, and what files set."""
        from judgeloop.report.page import Fact, Section

        page = result.page.said(as_flags)
        labels = tuple(
            one if one.score is not None else replace(one, reason=_advised(one.reason)) for one in result.labels
        )
        if read.sentence is not None:
            page = page.with_facts(Fact("settings", Section.DATA, "settings", read.sentence))
        return replace(result, page=page, labels=labels)

    def as_reported(self, ready: Prepared[Any], result: R, read: Read) -> R:
        """A result with flags for settings, its run, what was typed, and the texts of its items."""
        from judgeloop.providers.redaction import MASK
        from judgeloop.report.page import Fact, Section
        from judgeloop.runs.again import masked, repeatable
        from judgeloop.settings.setting import PREFIX
        from judgeloop.settings.sources import OF_TESTS
        from judgeloop.settings.values import names_a_secret

        result = self.with_flags(result, read)
        if ready.booked:
            page = result.page.with_facts(Fact("run", Section.DATA, "run", ready.run_id))
            result = replace(result, page=page)
        typed = shlex.join(["judgeloop", *click.get_current_context().meta.get(TYPED, ())])
        for name, value in sorted(read.environment.items(), reverse=True):
            if name.startswith(PREFIX) and not name.startswith(OF_TESTS):
                shown = MASK if names_a_secret(name) else value
                typed = f"{name}={shlex.quote(shown)} {typed}"
        return ready.with_texts(repeatable(ready, result, masked(typed, read.environment)))

    def invoked(
        self, *, dry_run: bool, json: bool, quiet: bool, details: bool, output: tuple[Path, ...], **given: Any
    ) -> None:
        """Check the settings, then run the question or forecast it.

        Raises:
            click.exceptions.Exit: always after a run, with the result's exit code.
        """
        from judgeloop.formats.tables import check_exists

        read: Read = click.get_current_context().obj
        output = () if dry_run else output
        with _marked_unfinished(output, self.question.name):
            if dry_run:
                say_not_written()
            config = self.question.settings().of(**given)
            check_exists(path for path in config.files_read() if path != config.ledger)

            # Half a second: who typed a wrong path does not wait for it.
            import asyncio

            from judgeloop.cli.files import check_outputs, render_json
            from judgeloop.cli.progress import computing
            from judgeloop.engine.state import unobserved
            from judgeloop.ledger.opening import is_ledger
            from judgeloop.runs.anew import said_anew, said_elsewhere
            from judgeloop.runs.begin import opened
            from judgeloop.settings.run_settings import CEILING

            check_outputs(output, config.files_read())
            new = not is_ledger(config.ledger)
            question = self.question.load()
            with kept_for_the_result(), computing(quiet=quiet or json):
                ready = question.prepare(config, read.environment, offline=dry_run)
            if dry_run:
                self._forecast(ready, read, as_json=json)
                return
            if notice := question.notice(ready):
                say(visible(as_flags(notice)))
            if ready.config.budget != config.budget and not (json or quiet):
                say(f"{CEILING} lowers the budget to {show_usd(ready.config.budget_p or 0)}")
            if ready.booked:
                warn_of_place(config.ledger)
            watched = not quiet and (logs_json() or not json) and ready.booked and not ready.by_hand
            with opened(ready) as begun:
                if new and begun.booked and not (json or quiet):
                    say(f"ledger: new, at {visible(str(config.ledger))}")
                if begun.booked and not (json or quiet) and (elsewhere := asyncio.run(said_elsewhere(begun))):
                    say(visible(elsewhere))
                watching = self.watching(begun) if watched else nullcontext(unobserved)
                found = driven(partial(question.run, begun), watching, by_hand=begun.by_hand)
                result = self.as_reported(begun, found, read)
                if begun.booked and not (json or quiet) and (anew := asyncio.run(said_anew(begun))):
                    say(visible(anew))
                where = _where(begun, result, output)
                if json:
                    text = render_json(result, read.files)
                else:
                    broke = result.answer.broke_off
                    text = "" if broke else _text(result, where, output, quiet=quiet, details=details)
                self._show(begun, result, text, output, where)
            raise click.exceptions.Exit(result.exit_code)

    def watching(self, ready: Prepared[Any], pair: str | None = None) -> AbstractContextManager[Observe[Any]]:
        """A context that says how a run goes on, that of a pair of a suite if it is named."""
        from judgeloop.cli.progress import watching
        from judgeloop.ledger.opening import runs_of

        config, systems = ready.config, ready.pool.systems
        most = ready.most_judgments
        decide = most - ready.most_for_groups
        groups = f" ({decide:,} for the decision)" if ready.most_for_groups else ""
        recorded = " of recorded costs" if ready.inputs.rehearses else ""
        budget = "" if config.budget_p is None else f" and {show_usd(config.budget_p)}{recorded}"
        so_far = self.question.load().so_far
        named = [shortened(name, LONGEST_NAME) for name in systems[:MOST_NAMED]]
        more = len(systems) - len(named)
        between = " and " if len(systems) <= FEW else ", "
        asked = f"{between.join(named)}{f' and {more} more' if more else ''}"
        judges = " + ".join(judge.identity.name for judge in ready.judges)
        return watching(
            f"{self.question.name}: {asked}, "
            f"{count(len(ready.pool), 'item')}, judged by {shortened(judges, LONGEST_NAME)}, "
            f"at most {count(most, 'judgment')}{groups}{budget}",
            most,
            config.budget_p,
            lambda tally, longest: so_far(tally, systems, longest),
            before_p=next((one.charged_p for one in runs_of(config.ledger) if one.id == ready.run_id), 0),
            pair=pair,
        )

    async def foreseen(self, ready: Prepared[Any], read: Read, files: str = "") -> Forecast:
        """What a run would take, with flags for settings; `files` says what files set."""
        with uncollected():
            found = await self.question.load().forecast(ready)
        return replace(found, result=self.with_flags(found.result, read), settings=files)

    def _forecast(self, ready: Prepared[Any], read: Read, *, as_json: bool) -> None:
        import asyncio

        from judgeloop.cli.files import json_text
        from judgeloop.cli.progress import WARM_UP_S, computing

        with computing(quiet=as_json, told_from_s=WARM_UP_S):
            found = asyncio.run(self.foreseen(ready, read, read.sentence or ""))
        if as_json:
            print(json_text(found.to_dict(as_flags), read.files), end="")
        else:
            print(as_flags(found.text(columns())))

    def _show(self, ready: Prepared[Any], result: R, text: str, output: Sequence[Path], where: str) -> None:
        """Print the text of a result and write its files; of a run that broke off, why, how to go on, and `where`."""
        from judgeloop.cli.files import write_outputs
        from judgeloop.questions.kept import keep
        from judgeloop.report.facts import judged_of, unjudged
        from judgeloop.report.page import BADGES, COST, costs
        from judgeloop.report.terminal import TOGETHER

        if result.answer.broke_off:
            page = result.page
            say(f"{BADGES[result.outcome].sign} {page.head}", tone=result.outcome)
            say(f"judged: {judged_of(result)}{result.also_judged}{unjudged(result, '')}; {costs(page.text(COST))}")
            for note in result.advice:
                say(as_flags(note.message))
            say(where.replace(TOGETHER, " "))
        try:
            if text:
                show(text)
        finally:  # also if nobody reads standard output
            if ready.booked:
                keep(ready, result)
            write_outputs(output, result)


def _where(ready: Prepared[Any], result: RunResult, files: Sequence[Path]) -> str:
    """Where all of a result is: in `files` of `-o`, and by which command."""
    from judgeloop.report.page import SEALED

    named = ", ".join(map(str, files))
    where = f"Report: {named}. " if named else ""
    if not ready.booked:
        return visible(f"{where}All of it: --details")
    return visible(f"{where}{as_flags(result.sealed().page.text(SEALED)) or all_of_it(ready.run_id, page=not named)}")


def _text(result: RunResult, where: str, files: Sequence[Path], *, quiet: bool, details: bool) -> str:
    """A result as it is printed: what is seen first and `where` the rest is, or all; `files` are those of `-o`."""
    from judgeloop.report.terminal import render

    if details:
        return f"{render(result.page, ', '.join(map(str, files)) or None, columns(), paint)}\n"
    return f"{render(result.page, None, columns(), paint, short=True, more='' if quiet else where)}\n"


def _advised(reason: str) -> str:
    """Why there is no verdict, with flags in the advice at its end; the reply stays as it is quoted."""
    quoted, mark, advice = reason.rpartition("; ")
    return f"{quoted}{mark}{as_flags(advice)}"


def _marked_unfinished(output: tuple[Path, ...], question: str) -> AbstractContextManager[None]:
    """As `unfinished`, which is not imported where there are no files of `-o`."""
    if not output:
        return nullcontext()
    from judgeloop.cli.files import unfinished

    return unfinished(output, question)


def say_not_written() -> None:
    """Say of `-o` on the command line of a dry run that there is no result to write."""
    read: Read = click.get_current_context().obj
    if read.origins.get(RESULT_FILE) == COMMAND_LINE:
        say("a dry run has no result: the files of -o are not written")


def warn_of_place(ledger: Address) -> None:
    """Say who else may write a ledger that is there, and where its locks may fail."""
    from judgeloop.ledger.opening import is_ledger, place_of

    for sentence in place_of(ledger)[1] if is_ledger(ledger) else ():
        say(visible(as_flags(sentence)))


def driven(
    run: Callable[..., Coroutine[Any, Any, T]], watching: AbstractContextManager[Observe[Any]], *, by_hand: bool = False
) -> T:
    """Run what can be interrupted to its end, and observe how it goes on in the context `watching`."""
    import asyncio

    from judgeloop.engine.state import Interruption

    async def observed() -> T:
        interruption = Interruption()
        catch_signals(interruption, by_hand=by_hand)
        with watching as observe:
            return await run(interruption=interruption, observe=observe)

    with kept_for_the_result():
        return asyncio.run(observed())


def catch_signals(interruption: Interruption, *, by_hand: bool) -> None:
    """Let the first Ctrl-C, SIGTERM or SIGHUP wait for the calls in flight, but for people's, the second end them.

    SIGHUP says that the terminal is closed. Where it is ignored, as under nohup, it stays ignored.
    """
    import asyncio
    import signal

    loop = asyncio.get_running_loop()

    def request() -> None:
        again = interruption.requested.is_set()
        if by_hand:
            text = "stopping: what people have in hand is let go, at no cost"
        elif again:
            text = "giving up the calls in flight; what they may cost stays held"
        else:
            text = "stopping: waiting for the calls in flight; interrupt again to give them up, which leaves their cost held"
        interruption.request()
        say(text)

    numbers = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    for number in numbers:
        try:
            loop.add_signal_handler(number, request)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(request))
