"""A tiny Qwen3 for the tests of a real vLLM server: `python -P tests/support/tiny_qwen3.py FOLDER`.

vLLM answers decisions for some architectures only, and Qwen3 is one.
The model is random, and so its words mean nothing; but the labels of three options are its likely first tokens, as
they are of a model that was trained, and how likely each is depends on the text. It needs torch, transformers and
tokenizers, which lie beside a vLLM. `-P`: this folder has a `selectors` of its own.
"""

import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

LABELS = "ABC"  # of first, second and neither
CHAT = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def write(folder: str) -> None:
    """Write the model and its tokenizer."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=special, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(["yes no Which answer is better? The first answer is clear."] * 10, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=special[2], pad_token=special[0])
    fast.chat_template = CHAT
    fast.save_pretrained(folder)

    torch.manual_seed(0)
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(fast), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2,
            num_key_value_heads=2, head_dim=32, max_position_embeddings=16384, bos_token_id=None, eos_token_id=2,
            tie_word_embeddings=False,
        )
    )  # fmt: skip
    with torch.no_grad():
        for layer in model.model.layers:  # what was read reaches the last token
            layer.self_attn.v_proj.weight.mul_(10)
            layer.self_attn.o_proj.weight.mul_(10)
        model.model.embed_tokens.weight.normal_()
        model.model.embed_tokens.weight[:, 0] = 8.0  # the same of each text: it tells labels from other tokens
        model.lm_head.weight.mul_(8)
        model.lm_head.weight[:, 0] = 0.0
        for label in LABELS:
            model.lm_head.weight[fast.encode(label)[0], 0] = 6.0
    model.save_pretrained(folder)


if __name__ == "__main__":
    write(sys.argv[1])
