"""The hidden state of a causal language model at the last token of each prompt.

This is AcTracer's representation (Huang et al. 2024, section 3.1.1) before its reduction to few dimensions (`reduced`
in `vectors.py`). Prompts are used as they are, without a chat template. The model is one of Hugging Face transformers:
no code that comes with it is run, and weights are read from safetensors files only. Needs the extra `judgeloop[embed]`;
torch and transformers are imported on first use.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.errors import InputError, install
from judgeloop.core.work import Work
from judgeloop.papers.vectors import Embed, cached

# Part of cache keys: increase it when code changes a hidden state.
VERSION = "hidden.1"
NAMES = ("middle", "last")
TOGETHER = 64  # prompts in a batch
# Hidden states in a batch, of all layers and of padding, too: transformers returns them together.
STATES_AT_A_TIME = 131_072
STATE_AXES = 3  # hidden states have shape (prompts, tokens, hidden size)
KEPT_AT_A_TIME = 1024  # prompts cached at a time: an interrupted run keeps what it has computed
HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
# Files that can change the model: weights, settings and vocabularies.
MATTERS = {".json", ".jinja", ".model", ".safetensors", ".txt"}

Tokens = list[int]
Layer = str | int
Vectors = NDArray[np.float32]


def hidden_vectors(prompts: Sequence[str], model: str, layer: Layer, cache_folder: Path) -> Vectors:
    """The hidden state of each prompt's last token, shape (prompts, hidden size).

    `model` is a folder or a name on the hub. `layer` is "middle" (half of the layers), "last"
    (after the last norm), or k for transformers' `hidden_states[k]`.
    The beginning-of-text token precedes each prompt, if the tokenizer has such a token. Of a prompt
    that is too long for the model, only the end is read, with a warning. Results on a CPU and on a
    GPU differ only by rounding; a GPU uses the precision in which the model was saved.

    If every vector is in the cache in `cache_folder`, the model is not loaded.

    Raises:
        InputError: the extra is not installed, the model or the layer does not exist, or a prompt
            cannot be encoded.
        ValueError: there are no prompts.
    """
    if isinstance(layer, str) and layer not in NAMES:
        raise InputError(f"{flag(model)}: expected the layer {', '.join(NAMES)} or a number, found {layer!r}")
    place = find_place(model)
    loaded = functools.cache(lambda: load(place))
    tell = Work("prompts read by the model", len(prompts))
    remember = cached(
        lambda texts: _read(loaded(), texts, _number(loaded(), layer), tell),
        model=f"{VERSION}\0{place.identity}\0{layer}",
        folder=cache_folder,
    )
    return in_parts(prompts, remember)


def _number(model: CausalModel, layer: Layer) -> int:
    """The index of `layer` in transformers' `hidden_states`."""
    number = {"middle": model.layers // 2, "last": model.layers}.get(str(layer), layer)
    if not 0 <= int(number) <= model.layers:
        raise InputError(
            f"{flag(model.name)}: expected a layer from 0 (the embeddings) to {model.layers} (the last), found {layer}"
        )
    return int(number)


def in_parts(prompts: Sequence[str], embed: Embed) -> Vectors:
    """The vectors of all prompts, computed in parts of prompts of similar length.

    Raises:
        ValueError: there are no prompts.
    """
    if not prompts:
        raise ValueError("expected at least one prompt")
    order = sorted(range(len(prompts)), key=lambda position: len(prompts[position]))
    parts = [order[begin : begin + KEPT_AT_A_TIME] for begin in range(0, len(order), KEPT_AT_A_TIME)]
    vectors = np.concatenate([embed([prompts[position] for position in part]) for part in parts])
    return np.asarray(vectors[np.argsort(order)], dtype=np.float32)


def _read(model: CausalModel, prompts: Sequence[str], layer: int, tell: Work) -> Vectors:
    """The state of each prompt's last token at `layer`, computed in batches.

    Each batch is moved to the CPU at once, so that results do not fill the model's device.
    """
    import torch

    tokens = model.encode(prompts)
    parts, vectors = list(batches(model, tokens)), list[Vectors]()
    tell.done(0)
    with torch.inference_mode():
        for part in parts:
            states = ends(model, [tokens[position] for position in part], [layer])[0]
            vectors.append(np.asarray(states.float().cpu().numpy()))
            tell.done(len(part))
    return np.concatenate(vectors)[np.argsort(np.concatenate(parts))]


def batches(model: CausalModel, tokens: Sequence[Tokens]) -> Iterator[list[int]]:
    """Yield the positions of prompts in batches, the longest prompts first.

    A batch has at most `TOGETHER` prompts, and with padding at most as many tokens as there is room for all layers'
    states, but at least one prompt.
    """
    lengths, room = [len(prompt) for prompt in tokens], STATES_AT_A_TIME // (model.layers + 1)
    order = sorted(range(len(lengths)), key=lambda position: -lengths[position])
    begin = 0
    while begin < len(order):
        count = min(TOGETHER, max(1, room // lengths[order[begin]]))
        yield order[begin : begin + count]
        begin += count


def ends(model: CausalModel, tokens: Sequence[Tokens], layers: Sequence[int]) -> Any:
    """`hidden_states` of the last token of each prompt, shape (layers, prompts, hidden size), on the model's device."""
    import torch

    found = model.base(**model.padded(tokens), output_hidden_states=True).hidden_states
    if len(found) != model.layers + 1 or found[layers[0]].ndim != STATE_AXES:
        raise InputError(
            f"{flag(model.name)}: a {model.network.config.model_type} does not return the hidden states of each layer"
        )
    last = torch.tensor([len(prompt) - 1 for prompt in tokens], device=found[0].device)
    everyone = torch.arange(len(tokens), device=found[0].device)
    return torch.stack([found[layer][everyone, last] for layer in layers])


@dataclass(frozen=True, slots=True)
class ModelPlace:
    """A model's folder (`revision` is None), or its name on the hub and a `revision` (a commit).

    `identity` changes whenever the content may have changed.
    """

    name: str
    revision: str | None
    identity: str


def find_place(model: str) -> ModelPlace:
    """Find `model`, a folder or a name on the hub; for a name, its settings may be downloaded.

    Raises:
        InputError: the folder or name does not exist, or the folder holds no model.
    """
    folder = Path(model).expanduser()
    if model and folder.is_dir():
        return ModelPlace(str(folder), None, _identity(model, folder))
    if not HUB_NAME.fullmatch(model):
        raise InputError(f"{flag(model)}: there is no such folder")
    revision = _revision(model)
    return ModelPlace(model, revision, f"{model}@{revision}")


def flag(model: str) -> str:
    """The setting with which the user named `model`."""
    return f"`represent=hidden:{model}`"


def needs_extra(model: str, error: ModuleNotFoundError) -> InputError:
    """The error for a missing extra `judgeloop[embed]`."""
    return InputError(f"{flag(model)} needs {install('embed')} (no {error.name}); or use `represent=lexical`")


def _identity(model: str, folder: Path) -> str:
    """A hash of the settings, and of the names, sizes and times of the relevant files.

    Weights are too large to hash their content.
    """
    try:
        digest = hashlib.sha256((folder / "config.json").read_bytes())
        for path in sorted(path for path in folder.iterdir() if path.suffix in MATTERS):
            found = path.stat()
            digest.update(f"\0{path.name}\0{found.st_size}\0{found.st_mtime_ns}".encode())
    except FileNotFoundError as error:
        raise InputError(f"{flag(model)}: this folder holds no model: there is no {error.filename}") from error
    except OSError as error:
        raise InputError(f"{flag(model)}: this folder cannot be read: {error}") from error
    return digest.hexdigest()


def _revision(model: str) -> str:
    """The commit of a model on the hub: the newest, or offline the last one downloaded."""
    try:
        from transformers.utils import cached_file
    except ModuleNotFoundError as error:
        raise needs_extra(model, error) from error
    try:
        return Path(cached_file(model, "config.json")).parent.name
    except (OSError, ValueError) as error:
        said = str(error).strip().split("\n", 1)[0]
        raise InputError(
            f"{flag(model)}: there is no such folder, and no such model on the hub, "
            f"or the hub cannot be reached ({said})"
        ) from error


@dataclass(frozen=True, eq=False)
class CausalModel:
    """A model with its head (`network`), its tokenizer and its number of `layers`.

    `prefix` holds the tokens that precede every prompt.
    """

    name: str
    network: Any
    tokenizer: Any
    layers: int
    prefix: Tokens = field(default_factory=list)

    @property
    def base(self) -> Any:
        """The model without its head, which maps tokens to hidden states."""
        return self.network.base_model

    @property
    def longest(self) -> int | None:
        """The largest number of tokens that the model has positions for; None without a limit."""
        most = getattr(self.network.config.get_text_config(), "max_position_embeddings", None)
        return most if isinstance(most, int) and most > 0 else None

    def encode(self, prompts: Sequence[str]) -> list[Tokens]:
        """The tokens of each prompt, starting with the prefix.

        If a prompt is too long for the model, only the prefix and the end of the prompt are kept,
        and a warning reports how many prompts were cut. A lone surrogate, which tokenizers reject,
        is read as a question mark.

        Raises:
            InputError: a prompt has no tokens, or a token that is not in the model's vocabulary.
        """
        texts = [text.encode("utf-8", "replace").decode("utf-8") for text in prompts]
        own = self.tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"] if texts else []
        before = self.prefix
        encoded = [tokens if tokens[: len(before)] == before else before + tokens for tokens in own]
        if not all(encoded):
            raise InputError(f"{flag(self.name)}: a prompt has no tokens, and the tokenizer adds no first token")
        known = self.network.get_input_embeddings().num_embeddings
        if (most := max(map(max, encoded), default=0)) >= known:
            raise InputError(
                f"{flag(self.name)}: the tokenizer gives token {most}, but the model knows only "
                f"{known} tokens: they do not belong together"
            )
        return self._ends(encoded)

    def _ends(self, encoded: list[Tokens]) -> list[Tokens]:
        """The tokens of each prompt, cut to the model's number of positions."""
        longest = self.longest
        cut = 0 if longest is None else sum(len(tokens) > longest for tokens in encoded)
        if longest is None or not cut:
            return encoded
        warnings.warn(
            f"{flag(self.name)}: {cut} of {len(encoded)} prompts are longer than the model's "
            f"{longest} tokens: only the end of each of them is read",
            stacklevel=3,
        )
        return [
            self.prefix + tokens[len(tokens) - longest + len(self.prefix) :] if len(tokens) > longest else tokens
            for tokens in encoded
        ]

    def padded(self, tokens: Sequence[Tokens]) -> dict[str, Any]:
        """The model's input: the tokens, padded at the end, and the attention mask.

        In a causal model no token sees the padding after it.
        """
        import torch

        rows = list(zip(*zip_longest(*tokens, fillvalue=0), strict=True))
        lengths = torch.tensor([len(prompt) for prompt in tokens])
        mask = torch.arange(len(rows[0])) < lengths[:, None]
        device = self.network.device
        return {"input_ids": torch.tensor(rows, device=device), "attention_mask": mask.long().to(device)}


def load(place: ModelPlace) -> CausalModel:
    """Load the model at `place`.

    It is loaded on a GPU, if there is one, in the precision in which it was saved. Otherwise it is
    loaded on the CPU in 32 bits.

    Raises:
        InputError: the extra is not installed, or the model cannot be loaded as a causal language
            model.
    """
    try:
        import torch
        import transformers
    except ModuleNotFoundError as error:
        raise needs_extra(place.name, error) from error
    gpu = torch.cuda.is_available()
    where = {"revision": place.revision} if place.revision else {"local_files_only": True}
    try:
        with _quietly(transformers.utils.logging):
            tokenizer = transformers.AutoTokenizer.from_pretrained(place.name, trust_remote_code=False, **where)
            network, report = transformers.AutoModelForCausalLM.from_pretrained(
                place.name,
                trust_remote_code=False,
                use_safetensors=True,
                dtype="auto" if gpu else torch.float32,
                output_loading_info=True,
                **where,
            )
            network.to("cuda" if gpu else "cpu").eval()
            network.config.use_cache = False
            layers = network.config.get_text_config().num_hidden_layers
    except Exception as error:  # these libraries raise any class, even Exception itself
        said = str(error).strip().split("\n", 1)[0]
        raise InputError(
            f"{flag(place.name)}: this cannot be loaded as a causal language model "
            f"({type(error).__name__}: {said}); give a folder with config.json, the tokenizer's files "
            "and weights as .safetensors, or a name on the hub"
        ) from error
    if report["missing_keys"]:
        lacking = ", ".join(sorted(report["missing_keys"])[:3])
        raise InputError(f"{flag(place.name)}: weights of the causal language model are missing: {lacking}")
    model = CausalModel(place.name, network, tokenizer, layers, _prefix(tokenizer))
    _check_causal(model)
    return model


@contextlib.contextmanager
def _quietly(logging: Any) -> Iterator[None]:
    """Silence the progress bars and log messages of transformers while it loads a model."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def _prefix(tokenizer: Any) -> Tokens:
    """The tokens that the tokenizer adds before a prompt.

    The beginning-of-text token is put first if the tokenizer has one and does not add it itself.
    """
    plain = tokenizer("a", add_special_tokens=False)["input_ids"]
    dressed = tokenizer("a")["input_ids"]
    before = next((n for n in range(len(dressed)) if dressed[n : n + len(plain)] == plain), 0)
    prefix: Tokens = dressed[:before]
    beginning = tokenizer.bos_token_id
    return prefix if beginning is None or beginning in prefix else [beginning, *prefix]


def _check_causal(model: CausalModel) -> None:
    """Check that tokens do not see later tokens; else hidden states would depend on the padding."""
    import torch

    known = model.network.get_input_embeddings().num_embeddings
    with torch.inference_mode():
        states = model.base(**model.padded([[0, 0], [0, known - 1]])).last_hidden_state[:, 0]
    rounding = torch.finfo(states.dtype).eps ** 0.5
    if not torch.allclose(states[0], states[1], rtol=rounding, atol=rounding, equal_nan=True):
        raise InputError(
            f"{flag(model.name)}: in this {model.network.config.model_type}, a token sees later "
            "tokens: it is not a causal language model"
        )
