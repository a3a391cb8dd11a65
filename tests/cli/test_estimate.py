"""`judgeloop estimate` as people use it, with a real SDK against a judge on loopback."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from support.chat_server import candidates, completion, used
from support.commandline import judged_by, judgeloop, result_of, shown_and_found, timeless
from support.text import unwrapped
from support.tiny_models import LAYERS, save_model

from judgeloop.methods.stats.intervals import exact_interval
from judgeloop.papers.actracer.layer import auto_layer

ITEMS = 60
GOOD, POOR = 8 / 9, 1 / 9  # what a rating of 9 and of 2 are worth
DRAWING = ["random", "stratified", "stratified-confidence"]
PICKING = ["actracer", "confidence-systematic", "cross-entropy", "mmd-critic", "diffuse"]


def honest(request, number):
    """A good answer is a 9, any other a 2."""
    rating = "9" if "good" in candidates(request)["answer"] else "2"
    return completion(json.dumps({"reason": "because", "rating": rating}))


@pytest.fixture
def server(chat_server):
    chat_server.respond = honest
    return chat_server


@pytest.fixture
def outputs(tmp_path):
    """Outputs of one system, two thirds of them good, which is more confident of these."""
    rng = np.random.default_rng(4)
    rows = []
    for i in range(ITEMS):
        good = i % 3 > 0
        words = " ".join(rng.choice(["well", "so", "then", "ok"], size=1 + i % 7))
        logprobs = (-rng.random(4) * (0.2 if good else 2.0)).tolist()
        rows.append(
            {"id": f"i{i}", "prompt": f"p{i}", "reference": "a good answer", "model": "mine", "logprobs": logprobs,
             "output": f"{'a good' if good else 'an'} answer to {i} {words}"}
        )  # fmt: skip
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.embed
def test_a_layer_is_searched_for_and_named(server, outputs, tmp_path):
    model = save_model(tmp_path / "model")
    found = auto_layer([f"p{i}" for i in range(ITEMS)], model, tmp_path / "cache")
    done = judgeloop(*live(server, outputs, "--selector", "actracer", "--represent", f"hidden:{model}", "--layer", "auto",
                           "--max-judgments", 20, "JUDGELOOP_CACHE_DIR=" + str(tmp_path / "other")))  # fmt: skip
    assert done.exit_code == 0, done.output
    assert f"layer auto ({found})" in unwrapped(done.stdout)
    assert f"layer {found} of {LAYERS}" in done.stderr
    assert re.search(rf"{ITEMS} of {ITEMS} prompts of the search for a layer, [\d.]+ s", done.stderr)


TRUTH = (40 * GOOD + 20 * POOR) / 60


def live(server, outputs, *more):
    return ["estimate", outputs, *judged_by(server), *more]


@pytest.fixture
def drawing(server, outputs):
    """An estimate from random draws, as its arguments."""
    return live(server, outputs, "--selector", "random")


def test_ratings_of_a_panel_have_a_mean_and_no_agreement(outputs):
    panel = ["--judge", "metric:exact", "--judge", "metric:token-f1"]
    printed = judgeloop("estimate", outputs, *panel).stdout
    assert "metric:exact + metric:token-f1; by mean\n" in printed


@pytest.fixture
def proxied(drawing, monkeypatch, server, tmp_path):
    """The same with another model as its proxy, at a price in dollars per million tokens."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    def by(model, dollars):
        prices = {"openai/judge": 1.0, f"openai/{model}": dollars}
        path = tmp_path / "prices.toml"
        path.write_text(
            "".join(
                f'["{name}"]\ninput_per_mtok = {price}\noutput_per_mtok = {10 * price}\n'
                for name, price in prices.items()
            )
        )
        judge = ["--judge", "openai/judge", "--proxy", f"openai/{model}", "--judge-price", path]
        return [*drawing[:2], *judge, "--selector", "random"]

    return by


def test_scores_of_0_and_1_have_an_exact_interval_and_with_a_width_or_a_proxy_that_for_every_look(outputs):
    judged = ["estimate", outputs, "--judge", "metric:exact", "--selector", "random", "--max-judgments", 40]
    exact = result_of(*judged)
    ones = round(exact["mean"] * 40)
    assert exact["interval_kind"] == "exact"
    assert exact["interval"] == pytest.approx(exact_interval(ones, 40, 60, 0.1))
    assert exact["guarantee"].startswith("where all scores are 0 or 1")
    proxied = ["--proxy", "metric:token-f1"]
    for more in (["--half-width", "0.2"], ["--interval", "anytime"], proxied, [*proxied, "--interval", "anytime"]):
        found = result_of(*judged, *more)
        assert found["interval_kind"] == "anytime"
        assert "however often" in found["guarantee"]
    gate = judgeloop(*judged, *proxied, "--require-score", "0.01")
    assert gate.exit_code in {0, 3, 5}


def test_groups_of_these_items_serve_an_interval_for_every_look_alone(outputs, tmp_path):
    rows = [json.loads(line) for line in outputs.read_text().splitlines()]
    grouped = tmp_path / "grouped.jsonl"
    grouped.write_text("".join(json.dumps(row | {"group": row["output"].split()[0]}) + "\n" for row in rows))
    anytime, like_these = ("--interval", "anytime"), ("--half-width", 0.2, "--about", "like-these")
    ways = {("--half-width", 0.01): 2, (*anytime, "--proxy", "confidence"): 2, (): 1, like_these: 1}
    for way, strata in ways.items():
        judged = ["--judge", "metric:token-f1", "--selector", "random", "--max-judgments", 40, *way]
        plain, helped = (result_of("estimate", path, *judged) for path in (outputs, grouped))
        assert (plain["strata"], helped["strata"]) == (1, strata)
        assert (helped["run"] == plain["run"]) is (strata == 1)
        same = (helped["mean"], helped["interval"]) == (plain["mean"], plain["interval"])
        assert same is (strata == 1) or "--proxy" in way


@pytest.mark.smoke
def test_the_score_comes_first_with_its_interval(drawing):
    done = judgeloop(*drawing, "--max-judgments", 40)
    assert done.exit_code == 0, done.output
    first, *rest = done.stdout.splitlines()
    assert re.fullmatch(r"✓ DECIDED: mine scores about 0\.\d+ out of 1 \(0\.\d+ to 0\.\d+\) on these 60 items\.", first)
    assert [line.split()[0] for line in rest if re.match(r"  \w", line)][:2] == ["judged", "interval"]
    assert "at most 1 in 10 such intervals miss the score, however often one looks" in unwrapped(done.stdout)


def test_one_output_is_shown_at_a_time_and_no_system_is_named(server, drawing):
    judgeloop(*drawing, "--max-judgments", 20)
    assert len(server.requests) == 20
    for request in server.requests:
        assert candidates(request).keys() == {"task", "reference", "answer"}
        assert "mine" not in json.dumps(request)


@pytest.mark.parametrize("selector", DRAWING + PICKING)
def test_every_selector_runs_through_the_session(drawing, selector):
    first = result_of(*drawing, "--selector", selector, "--max-judgments", 40)
    assert first["judged"] == 40
    assert abs(first["mean"] - TRUTH) < 0.15
    assert (first["interval"] is not None) == (selector in DRAWING)
    assert first["mean_biased"] == (selector in PICKING)
    if selector in DRAWING:
        low, high = first["interval"]
        assert low < first["mean"] < high


@pytest.mark.parametrize("selector", ["stratified", "actracer"])
def test_concurrency_changes_nothing(drawing, selector, tmp_path):
    command = [*drawing, "--selector", selector, "--max-judgments", 20]
    first, second = (result_of(*command, "--concurrency", n, "--ledger", tmp_path / f"{n}.sqlite") for n in (1, 16))
    assert timeless(first) == timeless(second)


def test_a_picked_sample_has_no_interval_and_says_so(drawing):
    done = judgeloop(*drawing, "--selector", "confidence-systematic", "--max-judgments", 30)
    unknown = "error unknown, as the items were not drawn at random"
    assert unknown in unwrapped(done.stdout)
    assert "--selector random draws them" in unwrapped(done.stdout)
    assert "What the interval means" not in done.stdout


def test_all_items_judged_is_certain(drawing):
    shown, result = shown_and_found(*drawing)
    assert result["stop_reason"] == "all_judged"
    assert result["mean"] == pytest.approx(TRUTH, abs=1e-6)
    assert result["interval"] == pytest.approx([TRUTH, TRUTH], abs=1e-6)
    text = shown.stdout
    assert "all 60 items, so the score is exact" in text
    assert "probably" not in text


def test_a_score_of_all_items_has_no_interval_whatever_ended_the_run(drawing):
    shown, result = shown_and_found(*drawing, "--half-width", "0.0001")
    assert (result["stop_reason"], result["judged"]) == ("precise_enough", ITEMS)
    assert f"scores {TRUTH:.3f} out of 1 on these 60 items." in unwrapped(shown.stdout)
    assert "exact, as all items are judged" in unwrapped(shown.stdout)


def test_it_ends_once_the_interval_is_narrow_enough(drawing):
    result = result_of(*drawing, "--half-width", "0.1")
    low, high = result["interval"]
    assert result["stop_reason"] == "precise_enough"
    assert max(high - result["mean"], result["mean"] - low) <= 0.1
    assert result["judged"] < ITEMS


def test_money_that_ends_before_leaves_what_is_known_and_what_would_do(drawing):
    narrow = [*drawing, "--half-width", "0.01"]
    done, result = shown_and_found(*narrow, "--budget", "0.03")
    assert done.exit_code == 3
    assert re.match(
        r"\? OPEN: mine scores about 0\.\d+ out of 1 \(0\.\d+ to 0\.\d+\) on these 60 items; not yet within 0\.01: "
        r"\$0\.0\d+ of the budget is left, and the next judgment may cost up to \$0\.0\d+\. judged",
        unwrapped(done.stdout),
    )
    assert "Score so far" not in done.stdout
    assert re.search(r"--budget \S+ in all is probably .*About \d+ more judgments", unwrapped(done.stdout))
    assert result["stop_reason"] == "budget"
    assert result["run_spent_usd"] <= 0.03
    assert result["more_judgments"] > 0
    assert result_of(*narrow)["judged"] > result["judged"], "the same command goes on"


def test_without_a_width_the_end_of_the_money_is_the_end_and_is_said(drawing):
    done = judgeloop(*drawing, "--budget", "0.03")
    assert done.exit_code == 0
    assert done.stdout.startswith("✓ DECIDED: mine scores about 0.")
    assert "ended" in judgeloop(*drawing, "--budget", "0.03", "-q").stdout
    assert "What is left of the budget of $0.030 does not cover" in done.stdout


@pytest.mark.parametrize("budget", ["0.002", "0.008"])
def test_money_that_ends_before_the_least_number_of_judgments_decides_nothing(drawing, budget):
    for width in ([], ["--half-width", "0.01"]):
        done = judgeloop(*drawing, "--budget", budget, *width)
        assert done.exit_code == 3
        assert done.stdout.startswith("? OPEN: no estimate yet of mine on these 60 items: $0.00")
        assert "% interval" not in done.stdout
        assert "A dry run says" in unwrapped(done.stdout)


@pytest.mark.parametrize(("required", "code", "said"), [(0.3, 0, "; 0.3 was required."), (0.95, 5, "; 0.95 was required."), (TRUTH, 3, "is open")])  # fmt: skip
def test_a_required_score_decides_the_exit_code(drawing, required, code, said):
    done = judgeloop(*drawing, "--max-judgments", 40, "--require-score", required)
    assert done.exit_code == code, done.output
    assert said in unwrapped(done.stdout.partition("\nJudged")[0])


@pytest.mark.parametrize(("proxy", "share"), [("metric:token-f1", 0.95), ("confidence", 1.3)])
def test_a_free_proxy_judges_everything_and_a_good_one_narrows_the_interval(drawing, proxy, share):
    plain = result_of(*drawing, "--max-judgments", 30)
    helped = result_of(*drawing, "--max-judgments", 30, "--proxy", proxy)
    width, narrower = (np.diff(one["interval"])[0] for one in (plain, helped))
    assert narrower < share * width
    assert (helped["proxy"], helped["spent_usd"]) == (proxy, 0)
    asked_anew = 0 if proxy == "confidence" else ITEMS
    assert helped["attempts"] == asked_anew, "what the judge said before is remembered"


def test_a_forecast_of_a_run_that_goes_on_takes_a_call_for_each_further_rating(drawing):
    empty = result_of(*drawing, "--half-width", "0.05", "--dry-run")
    rated = result_of(*drawing, "--max-judgments", 20)
    forecast = result_of(*drawing, "--half-width", "0.05", "--dry-run")
    assert forecast["calls"]["expected"] == forecast["judgments"]["expected"] > 5
    assert (forecast["questions"], forecast["questions_without_a_call"]) == (ITEMS, 20)
    for all_ in (empty, forecast, rated):
        assert all_["usd_of_all"] == pytest.approx(rated["spent_usd"] / 20 * ITEMS, rel=0.5)


def test_a_paid_proxy_and_the_judge_share_one_budget(server, proxied):
    result = result_of(*proxied("cheap", 0.1), "--max-judgments", 30)
    models = [request["model"] for request in server.requests]
    assert models[:ITEMS] == ["cheap"] * ITEMS, "the proxy is asked about everything, first"
    assert models[ITEMS:] == ["judge"] * 30
    assert result["run_spent_usd"] == pytest.approx(30 * 0.0006 + ITEMS * 0.00006)
    assert result["spent_usd"] == pytest.approx(result["run_spent_usd"])
    assert result["attempts"] == ITEMS + 30


def test_in_a_suite_what_the_proxy_costs_counts_once(server, proxied, tmp_path):
    (tmp_path / "suite.toml").write_text(
        '[suite]\nbudget = 1\n[pairs.mine]\nquestion = "estimate"\nsystems = ["mine.jsonl"]\n'
        'max-judgments = 30\nproxy = "openai/cheap"\nselector = "random"\n'
    )
    flags = proxied("cheap", 0.1)
    judge = [*flags[2:4], *flags[6:8]]
    night = result_of("suite", tmp_path / "suite.toml", *judge)
    result = json.loads(judgeloop("runs", "show", night["pairs"][0]["run"], "--json").stdout)
    assert result["spent_usd"] == result["run_spent_usd"] == night["pairs"][0]["charged_usd"]
    assert result["attempts"] == ITEMS + 30 == len(server.requests)


def test_the_thoughts_and_the_cached_tokens_of_the_proxy_count_too(server, proxied, tmp_path):
    def thoughtful(request, number):
        response = honest(request, number)
        body = json.loads(response.body)
        body["usage"] |= {
            "completion_tokens_details": {"reasoning_tokens": 10},
            "prompt_tokens_details": {"cached_tokens": 100},
        }
        return replace(response, body=json.dumps(body).encode())

    server.respond = thoughtful
    command = proxied("cheap", 1.0)
    own = tmp_path / "prices.toml"
    own.write_text(own.read_text().replace('["openai/cheap"]', '["openai/cheap"]\ncache_read_per_mtok = 0.5'))  # fmt: skip
    result = result_of(*command, "--max-judgments", 30)
    assert result["tokens"]["reasoning_tokens"] == 10 * (ITEMS + 30)
    assert result["cached_usd_saved"] == pytest.approx(ITEMS * 100 * 0.5 / 1e6)


def test_a_dry_run_pays_for_the_proxy_before_it_says_what_the_budget_is_enough_for(proxied):
    command = [*proxied("cheap", 1.0), "--budget", "0.03"]
    forecast = result_of(*command, "--dry-run")
    assert forecast["budget_pays_for"] == 0
    assert "What is asked before costs about $" in unwrapped(judgeloop(*command, "--dry-run").stdout)
    done, values = shown_and_found(*command)
    assert done.exit_code == 3
    assert (values["judged"], values["stop_reason"], values["interval"]) == (0, "budget", None)
    rest = result_of(*command, "--dry-run")
    assert 10 < forecast["calls"]["worst"] - rest["calls"]["worst"] < ITEMS


def test_controls_test_the_judge_and_not_its_proxy(server, proxied):
    command = [*proxied("cheap", 0.1), "--controls", "on", "--max-judgments", 30]
    short = [*command, "--budget", "0.001"]
    assert result_of(*short)["controls"][0]["end"] is None, "no money for them"
    without = result_of(*command, "--controls", "off", "--dry-run")["calls"]["worst"]
    assert result_of(*command, "--dry-run")["calls"]["worst"] == without + 80
    done = judgeloop(*command)
    assert done.exit_code == 4, "a judge that looks for one word tells no question from another"
    models = [request["model"] for request in server.requests]
    assert set(models) == {"judge"}, "a proxy of a judge that cannot tell is not paid"


@pytest.mark.parametrize("allowed", ["0.2", "1"])
def test_a_judge_whose_replies_cannot_be_read_leaves_no_score_and_no_traceback(server, drawing, allowed):
    server.respond = lambda request, number: completion("certainly", usage=used(request))
    done = judgeloop(*drawing, f"JUDGELOOP_MAX_ABSTENTIONS={allowed}", "--max-judgments", "30")
    assert done.exit_code == (4 if allowed == "0.2" else 3), done.output
    assert isinstance(done.exception, SystemExit | None)
    assert "nothing has been judged" in done.stdout or "no result" in done.stderr
    assert "% interval" not in done.stdout


def test_a_limit_below_the_usual_first_look_is_no_error(drawing):
    assert result_of(*drawing, "--max-judgments", 8)["judged"] == 8
    refused = judgeloop(*drawing, "--max-judgments", 8, "JUDGELOOP_MIN_JUDGMENTS=9")
    assert refused.exit_code == 2


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--half-width", "0.1", "--selector", "actracer"], "--selector actracer picks its items"),
        (["--require-score", "0.5", "--selector", "diffuse"], "--require-score: --selector diffuse picks its items"),
        (["--interval", "anytime", "--selector", "mmd-critic"], "--interval: --selector mmd-critic picks"),
        (["--interval", "anytime", "--selector", "stratified"], "--interval anytime needs uniform draws"),
        (["--require-score", "0.5", "--selector", "stratified"], "use --selector random"),
        (["--require-score", "0.5", "--proxy", "metric:exact", "--selector", "stratified"], "use --selector random"),
        (["--proxy", "confidence", "--selector", "confidence-systematic"], "--proxy: --selector confidence-systematic"),
        (["--selector", "random", "--clusters", "4"], "--clusters 4 has no effect with"),
        (["--selector", "random", "--represent", "minilm"], "--represent minilm has no effect with"),
        (["--represent", "hidden:model", "--selector", "diffuse"], "--represent hidden:model: --selector diffuse clusters the outputs"),
        (["--layer", "last", "--selector", "stratified"], "only --represent hidden:MODEL, or a file of hidden states"),
        (["--layer", "auto", "--selector", "stratified"], "only --represent hidden:MODEL, or a file of hidden states"),
        (["--layer", "auto", "--selector", "mmd-critic"], "--layer auto: --selector mmd-critic has no such setting"),
        (["--layer", "first", "--selector", "stratified"], "expected middle, last, auto or a number"),
        (["--clusters", "30", "--max-judgments", "40", "--selector", "stratified"], "at most 20"),
        (["--confidence", "sure"], "does not use confidence"),
        (["--selector", "actracer", "--confidence", "sure"], "the field 'sure' is missing"),
        (["--proxy", "openai/judge"], "this is the judge itself"),
        (["--proxy", "human"], "a proxy rates many items"),
        (["--represent", "foo"], "--represent: expected lexical, minilm, minilm:FOLDER or hidden:MODEL, found 'foo'"),
        (["--prompt", "pairwise.v1"], "--prompt pairwise.v1"),
        (["JUDGELOOP_MIN_JUDGMENTS=50", "--max-judgments", "40"], "JUDGELOOP_MIN_JUDGMENTS"),
        (["--represent", "hidden:nowhere", "--selector", "stratified"], "--represent hidden:nowhere"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_before_anything_is_asked(server, outputs, flags, said):
    done = judgeloop(*live(server, outputs, *flags))
    assert done.exit_code == 2, done.output
    assert said in done.stderr.replace("\n", " ")
    assert not server.requests


@pytest.mark.parametrize("selector", DRAWING + PICKING)
def test_scores_that_are_all_the_same_have_an_answer(server, drawing, selector):
    server.respond = lambda request, number: completion(json.dumps({"reason": "", "rating": "10"}))
    result = result_of(*drawing, "--selector", selector, "--max-judgments", 30)
    assert result["mean"] == pytest.approx(1.0)
    if result["interval"]:
        assert result["interval"][0] < 0.99, "thirty of sixty do not make certain"


@pytest.mark.parametrize("selector", DRAWING + PICKING)
@pytest.mark.parametrize("items", [1, 5])
def test_few_items_have_an_answer(drawing, outputs, selector, items):
    outputs.write_text("".join(outputs.read_text().splitlines(keepends=True)[:items]))
    result = result_of(*drawing, "--selector", selector)
    assert (result["judged"], result["stop_reason"]) == (items, "all_judged")


def test_a_dry_run_says_what_it_assumes(drawing, server):
    done = judgeloop(*drawing, "--half-width", "0.1", "--dry-run")
    assert "ratings that spread as recorded ones do" in unwrapped(done.stdout)
    plan = result_of(*drawing, "--dry-run")
    assert plan["judgments"] == {"low": 60, "expected": 60, "worst": 60}
    assert not server.requests


def test_money_that_ends_within_the_first_draws_of_strata_leaves_an_interval(server, outputs):
    drawn = ["--selector", "stratified", "--clusters", "25", "--max-judgments", "60"]
    result = result_of(*live(server, outputs, *drawn, "--budget", "0.022"))
    assert result["stop_reason"] == "budget"
    assert 20 <= result["judged"] < 50
    low, high = result["interval"]
    assert low < TRUTH < high


def test_of_items_like_these_a_score_is_never_exact(drawing):
    result, about = shown_and_found(*drawing, "--about", "like-these")
    assert result.exit_code == 0, result.output
    first = result.stdout.splitlines()[0]
    assert re.fullmatch(r"✓ DECIDED: mine scores about 0\.\d+ out of 1 \(.*\) on items like these 60\.", first)
    assert "exact" not in result.stdout
    these = result_of(*drawing)
    assert (about["about"], these["about"]) == ("like-these", "items")
    assert about["mean"] == pytest.approx(these["mean"])
    assert about["interval"][0] < about["mean"] < about["interval"][1]
    assert these["interval"][0] == these["interval"][1]


@pytest.mark.parametrize("kind", ["once", "anytime"])
def test_too_few_items_like_these_are_said_before_and_after(kind, drawing):
    command = [*drawing, "--about", "like-these", "--half-width", "0.03", "--interval", kind]
    forecast = unwrapped(judgeloop(*command, "--dry-run").stdout)
    assert "for items like these, an interval of --half-width 0.03 probably takes" in forecast
    result = judgeloop(*command)
    assert result.exit_code == 3
    more, limit = re.search(
        r"With about ([\d,]+) more items like these and --max-judgments ([\d,]+), a decision is likely",
        unwrapped(result.stdout),
    ).groups()
    assert int(limit) == int(more.replace(",", "")) + 60


def test_a_limit_that_is_too_low_for_the_width_is_said_before(drawing):
    command = [*drawing, "--half-width", "0.03", "--dry-run"]
    assert "will probably end" not in judgeloop(*command).stdout
    limited = unwrapped(judgeloop(*command, "--max-judgments", "30").stdout)
    assert "--max-judgments 30 will probably end the estimate before its interval has --half-width 0.03" in limited


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--selector", "stratified"], "speaks of these items alone; use --selector random"),
        (["--proxy", "metric:exact"], "set --max-judgments 30 or less"),
    ],
)
def test_what_cannot_be_said_of_items_like_these_is_refused_before_anything_is_asked(more, said, drawing, server):
    result = judgeloop(*drawing, "--about", "like-these", *more)
    assert result.exit_code == 2
    assert said in unwrapped(result.stderr)
    assert not server.requests


def test_of_items_like_these_a_proxy_rates_a_block_of_fresh_items_for_each_judgment(server, proxied):
    command = [*proxied("cheap", 0.1), "--about", "like-these", "--max-judgments", 20]
    forecast = result_of(*command, "--dry-run")
    assert forecast["calls"]["worst"] == 20 * 3
    found = result_of(*command)
    models = [request["model"] for request in server.requests]
    assert (models.count("judge"), models.count("cheap"), found["block"]) == (20, 40, 2)
    assert (found["interval_kind"], found["about"]) == ("anytime", "like-these")
    assert found["interval"][0] < found["mean"] < found["interval"][1]
    assert found["run_spent_usd"] == pytest.approx(20 * 0.0006 + 40 * 0.00006)
    assert result_of(*command)["attempts"] == 0


@pytest.mark.parametrize(("limit", "width", "code"), [(20, 0.05, "items_and_limit"), (10, 0.22, "limit_enough")])
def test_more_items_are_told_by_the_blocks_that_they_make(server, proxied, limit, width, code):
    command = [*proxied("cheap", 0.1), "--about", "like-these", "--max-judgments", limit, "JUDGELOOP_MIN_JUDGMENTS=10"]
    found = result_of(*command, "--half-width", width)
    (advice, *more) = found["advice"]
    enough = limit + found["more_judgments"]
    assert advice["code"] == code
    assert (2 * enough > ITEMS) == (code == "items_and_limit")
    if code == "items_and_limit":
        assert (advice["items"], advice["limit"]) == (enough * found["block"] - ITEMS, enough)
        assert more == []
        dry = result_of(*command, "--half-width", width, "--ledger", "other.db", "--dry-run")
        items = int(re.search(r"takes ([\d,]+) items", dry["stays_open"])[1].replace(",", ""))
        assert items % 2 == 0
        assert items > 2 * ITEMS


@pytest.mark.parametrize("about", ["items", "like-these"])
def test_after_a_budget_that_was_too_small_a_run_with_a_proxy_goes_on_to_the_same_interval(proxied, about):
    command = [*proxied("cheap", 0.1), "--about", about, "--max-judgments", 20]
    whole = result_of(*command, "--ledger", "whole.db")
    for usd in (0.002, 0.008):
        assert result_of(*command, "--budget", usd)["run_spent_usd"] <= usd
    rest = result_of(*command)
    assert {name: rest[name] for name in ("judged", "mean", "interval", "proxy_mean")} == {
        name: whole[name] for name in ("judged", "mean", "interval", "proxy_mean")
    }
