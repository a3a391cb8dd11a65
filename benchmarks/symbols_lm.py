"""Trains a small language model on six tasks about symbols, and records 3,000 answers.

    python benchmarks/symbols_lm.py FOLDER [--steps 2500] [--seed 0]

A second subject for estimates, beside `tiny-lm` of DATA (benchmarks/results.py): other tasks, of
unequal size and difficulty. FOLDER then holds what `judgeloop replay --job estimate` reads:
`outputs.jsonl` (prompt, output, log-probability of each generated token under greedy decoding, the
end token included), `verdicts-exact.csv.gz` (exact match), `model` (a Llama of 4 layers in the form
of Hugging Face transformers, for `--represent hidden:FOLDER/model`) and `hidden.npz` (the hidden
state of each prompt's last token at each layer). Needs the extra `judgeloop[embed]`, and some ten
minutes of one core. Training data are drawn at random; prompts of the items are kept out of them.
The same seed gives the same items everywhere, and the same weights up to rounding.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, decoders
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

NAME = "symbols-lm"
SPECIAL = ["<pad>", "<s>", "</s>"]
PAD, BEGIN, END = range(3)
CHARACTERS = "0123456789+-*%=:,.<>()[]{}&|!TF abcdefghijklmnopqrstuvwxyz"
LAYERS = 4
WIDTH = 64
BATCH = 96
RATE = 3e-3
WARM_UP = 100  # steps
LONGEST = 64  # tokens
MOST_GENERATED = 12  # tokens
TOGETHER = 250  # items answered at a time
IGNORED = -100  # the label of a token that the loss leaves out

Rng = np.random.Generator
Pair = tuple[str, str]  # a prompt and its right answer


def close(rng: Rng) -> Pair:
    """Close the brackets that are open, innermost first."""
    pairs, text, open_ = {"(": ")", "[": "]", "{": "}"}, "", []
    for _ in range(int(rng.integers(3, 10))):
        if open_ and rng.random() < 0.4:
            text += pairs[open_.pop()]
        else:
            open_.append("([{"[rng.integers(3)])
            text += open_[-1]
    if not open_:
        open_, text = ["("], text + "("
    return f"close:{text}=", "".join(pairs[one] for one in reversed(open_))


def step(rng: Rng) -> Pair:
    """Continue an arithmetic progression."""
    first, width = int(rng.integers(0, 100)), int(rng.integers(1, 13))
    shown = int(rng.integers(2, 4))
    numbers = [first + place * width for place in range(shown + 1)]
    return f"next:{','.join(map(str, numbers[:-1]))}=", str(numbers[-1])


def shift(rng: Rng) -> Pair:
    """Move each letter on by some places of an alphabet of ten letters."""
    places, length = int(rng.integers(1, 5)), int(rng.integers(2, 8))
    letters = rng.integers(10, size=length)
    text = "".join(chr(97 + one) for one in letters)
    return f"shift {places}:{text}=", "".join(chr(97 + (one + places) % 10) for one in letters)


def chain(rng: Rng) -> Pair:
    """Work through a chain of operations from left to right, by a modulus."""
    modulus, value = int(rng.integers(3, 10)), int(rng.integers(10))
    text = str(value)
    for _ in range(int(rng.integers(1, 4))):
        sign, other = "+-*"[rng.integers(3)], int(rng.integers(10))
        value = {"+": value + other, "-": value - other, "*": value * other}[sign]
        text += f"{sign}{other}"
    return f"mod {modulus}:{text}=", str(value % modulus)


def swap(rng: Rng) -> Pair:
    """Exchange the letters at two places, several times."""
    letters = [chr(97 + one) for one in rng.permutation(8)[: int(rng.integers(3, 6))]]
    before, swaps = "".join(letters), []
    for _ in range(int(rng.integers(1, 4))):
        one, two = sorted(rng.choice(len(letters), 2, replace=False).tolist())
        letters[one], letters[two] = letters[two], letters[one]
        swaps.append(f"{one + 1}{two + 1}")
    return f"swap {','.join(swaps)}:{before}=", "".join(letters)


def truth(rng: Rng) -> Pair:
    """Evaluate a nested Boolean expression."""

    def made(depth: int) -> tuple[str, bool]:
        if depth == 0 or rng.random() < 0.2:
            value = bool(rng.integers(2))
            return "FT"[value], value
        if rng.random() < 0.2:
            text, value = made(depth - 1)
            return f"!{text}", not value
        (left, one), (right, two) = made(depth - 1), made(depth - 1)
        both = bool(rng.integers(2))
        return f"({left}{'|&'[both]}{right})", (one and two) if both else (one or two)

    text, value = made(int(rng.integers(1, 4)))
    return f"is:{text}=", "FT"[value]


# The numbers of items are unequal, as in an aggregated benchmark.
TASKS: dict[str, tuple[Callable[[Rng], Pair], int]] = {
    "shift": (shift, 900),
    "next": (step, 700),
    "swap": (swap, 500),
    "close": (close, 400),
    "mod": (chain, 300),
    "is": (truth, 200),
}


@dataclass(frozen=True, slots=True)
class Item:
    """One prompt, its right answer and its task."""

    id: str
    group: str
    prompt: str
    reference: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model wrote to a prompt, and the log-probability of each token."""

    text: str
    logprobs: list[float]


def items_of(rng: Rng) -> list[Item]:
    """Draw the items; no two have the same prompt."""
    found: dict[str, Item] = {}
    for group, (make, count) in TASKS.items():
        here = 0
        while here < count:
            prompt, reference = make(rng)
            if prompt not in found:
                found[prompt] = Item(f"{group}-{here:04d}", group, prompt, reference)
                here += 1
    return list(found.values())


def tokenizer() -> PreTrainedTokenizerFast:
    """Return a tokenizer with a token a character."""
    vocabulary = {token: place for place, token in enumerate([*SPECIAL, *CHARACTERS])}
    plain = Tokenizer(WordLevel(vocabulary, unk_token=SPECIAL[PAD]))
    plain.pre_tokenizer = Split(Regex("."), behavior="isolated")  # type: ignore[assignment]
    plain.decoder = decoders.Fuse()  # type: ignore[assignment]
    return PreTrainedTokenizerFast(
        tokenizer_object=plain, bos_token=SPECIAL[BEGIN], eos_token=SPECIAL[END], pad_token=SPECIAL[PAD]
    )


def network() -> LlamaForCausalLM:
    """Return the untrained model."""
    config = LlamaConfig(
        vocab_size=len(SPECIAL) + len(CHARACTERS),
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        max_position_embeddings=LONGEST,
        bos_token_id=BEGIN,
        eos_token_id=END,
        pad_token_id=PAD,
        use_cache=False,
    )
    return LlamaForCausalLM(config)


def encoded(text: str) -> list[int]:
    """Return the tokens of a text."""
    return [CHARACTERS.index(character) + len(SPECIAL) for character in text]


def batches(rng: Rng, kept_out: set[str]) -> Iterator[dict[str, torch.Tensor]]:
    """Yield batches for training; the loss is of the answers alone."""
    groups = list(TASKS)
    while True:
        rows: list[tuple[list[int], int]] = []
        while len(rows) < BATCH:
            prompt, answer = TASKS[groups[rng.integers(len(groups))]][0](rng)
            if prompt not in kept_out:
                before = [BEGIN, *encoded(prompt)]
                rows.append(([*before, *encoded(answer), END], len(before)))
        longest = max(len(tokens) for tokens, _ in rows)
        inputs = torch.full((BATCH, longest), PAD)
        labels = torch.full((BATCH, longest), IGNORED)
        for place, (tokens, asked) in enumerate(rows):
            inputs[place, : len(tokens)] = torch.tensor(tokens)
            labels[place, asked : len(tokens)] = inputs[place, asked : len(tokens)]
        # The padding is at the end, where no token of a causal model sees it.
        yield {"input_ids": inputs, "labels": labels}


def train(model: LlamaForCausalLM, rng: Rng, kept_out: set[str], steps: int) -> None:
    """Train with AdamW; the rate rises linearly, then falls as a cosine."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    rates = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda at: min((at + 1) / WARM_UP, 0.5 + 0.5 * float(np.cos(np.pi * at / steps)))
    )
    began = time.monotonic()
    for at, batch in zip(range(steps), batches(rng, kept_out), strict=False):
        loss = model(**batch).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        rates.step()
        if at % 100 == 0:
            print(f"step {at}: loss {loss.item():.3f}, {time.monotonic() - began:.0f} s", flush=True)


@torch.inference_mode()
def answered(model: LlamaForCausalLM, items: Sequence[Item]) -> list[Answer]:
    """Decode greedily until the end token, and note the log-probability of each token."""
    rows = [[BEGIN, *encoded(item.prompt)] for item in items]
    logprobs: list[list[float]] = [[] for _ in rows]
    starts = [len(row) for row in rows]
    for _ in range(MOST_GENERATED):
        going = [place for place, row in enumerate(rows) if row[-1] != END]
        if not going:
            break
        longest = max(len(rows[place]) for place in going)
        inputs = torch.tensor([rows[at] + [PAD] * (longest - len(rows[at])) for at in going])
        last = torch.tensor([len(rows[place]) - 1 for place in going])
        scores = model(input_ids=inputs).logits[torch.arange(len(going)), last].log_softmax(-1)
        for place, (value, token) in zip(going, zip(*scores.max(-1), strict=True), strict=True):
            logprobs[place].append(round(float(value), 5))
            rows[place].append(int(token))
    return [
        Answer("".join(text_of(row[start:])), values) for row, start, values in zip(rows, starts, logprobs, strict=True)
    ]


def text_of(tokens: Sequence[int]) -> str:
    """Return the text of tokens, without the special tokens."""
    return "".join(CHARACTERS[token - len(SPECIAL)] for token in tokens if token >= len(SPECIAL))


@torch.inference_mode()
def states(model: LlamaForCausalLM, items: Sequence[Item]) -> list[np.ndarray[Any, Any]]:
    """Return the hidden states of each prompt's last token at layers 1 to the last."""
    found: list[list[np.ndarray[Any, Any]]] = [[] for _ in range(LAYERS)]
    for item in items:
        hidden = model.model(
            input_ids=torch.tensor([[BEGIN, *encoded(item.prompt)]]), output_hidden_states=True
        ).hidden_states
        for layer in range(LAYERS):
            found[layer].append(hidden[layer + 1][0, -1].numpy().astype(np.float16))
    return [np.stack(layer) for layer in found]


def write(folder: Path, model: LlamaForCausalLM, items: Sequence[Item]) -> None:
    """Answer the items, and write everything into `folder`."""
    model.eval()
    groups = [items[at : at + TOGETHER] for at in range(0, len(items), TOGETHER)]
    answers = [answer for group in groups for answer in answered(model, group)]
    model.save_pretrained(folder / "model")
    tokenizer().save_pretrained(folder / "model")
    layers = {f"layer{place + 1}": found for place, found in enumerate(states(model, items))}
    np.savez_compressed(folder / "hidden.npz", ids=np.array([one.id for one in items]), **layers)
    right = [item.reference == answer.text for item, answer in zip(items, answers, strict=True)]
    with (folder / "outputs.jsonl").open("w", encoding="utf-8") as file:
        for item, answer, correct in zip(items, answers, right, strict=True):
            row = {
                "id": item.id, "group": item.group, "model": NAME, "prompt": item.prompt,
                "reference": item.reference, "output": answer.text, "logprobs": answer.logprobs,
                "correct": correct,
            }  # fmt: skip
            file.write(json.dumps(row) + "\n")
    with gzip.open(folder / "verdicts-exact.csv.gz", "wt", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["item_id", "model", "score"])
        rows.writerows([item.id, NAME, int(one)] for item, one in zip(items, right, strict=True))
    for group in TASKS:
        own = [one for item, one in zip(items, right, strict=True) if item.group == group]
        print(f"{group}: {np.mean(own):.1%} of {len(own)}")
    print(f"right: {np.mean(right):.1%} of {len(items)}")


def main() -> None:
    """Draw the items, train the model, and write what it answers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=2500)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(1)  # a thread a run: sums are then in one order
    items = items_of(np.random.default_rng([arguments.seed, 0]))
    model = network()
    kept_out = {item.prompt for item in items}
    train(model, np.random.default_rng([arguments.seed, 1]), kept_out, arguments.steps)
    write(arguments.folder, model, items)


if __name__ == "__main__":
    main()
