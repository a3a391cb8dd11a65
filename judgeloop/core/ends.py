"""How an output ended: one word for what each provider and each tool calls it.

Whole is what says so, and what says nothing. The words of OpenAI, Anthropic, Google, Cohere, Mistral, DeepSeek, Z.ai,
Amazon Bedrock, vLLM, Ollama and Hugging Face's servers stand here together, because gateways mix them; so do those of
Inspect, promptfoo, HELM and of OpenAI's Responses.
"""

import enum
import re


class OutputEnd(enum.StrEnum):
    """How an output ended."""

    WHOLE = "whole"
    CUT = "cut"  # at a limit of tokens: its own, or that of the context
    FILTERED = "filtered"  # a filter stopped it, or the model refused
    FAILED = "failed"  # the server broke it off: it is no output
    UNKNOWN = "unknown"  # in a word that is not known

    @property
    def said(self) -> str:
        """The end in words, behind a number."""
        return _SAID[self]


_SAID = {
    OutputEnd.WHOLE: "whole",
    OutputEnd.CUT: "cut at a limit of tokens",
    OutputEnd.FILTERED: "stopped by a filter",
    OutputEnd.FAILED: "broken off by the server",
    OutputEnd.UNKNOWN: "ended in a way that is not known",
}
FULL_CONTEXT = frozenset({"model_length", "model_context_window_exceeded", "context_length_exceeded"})
_WORDS = {
    OutputEnd.WHOLE: """stop end_turn stop_sequence stop_token tool_calls tool_call tool_use function_call eos eos_token eos_found
        endoftext end_of_text end complete completed finished finish success""",
    OutputEnd.CUT: f"length max_tokens max_output_tokens max_new_tokens max_length token_limit limit incomplete "
    f"error_limit max_prompt {' '.join(FULL_CONTEXT)}",
    OutputEnd.FILTERED: """content_filter content_filtered content_filter_error refusal sensitive safety recitation language
        blocklist prohibited_content spii image_safety moderation guardrail_intervened error_toxic harm""",
    OutputEnd.FAILED: """error network_error insufficient_system_resource abort aborted cancel cancelled canceled user_cancel
        timeout time_limit failed failure malformed_function_call malformed_model_output malformed_tool_use
        unexpected_tool_call in_progress queued""",
}
_ENDS = {word: end for end, words in _WORDS.items() for word in words.split()}
_ENDS |= {str(end): end for end in OutputEnd}
_WORD = re.compile(r"\w+")  # Google says what its filter found behind the word, after a colon


def ended(said: object) -> OutputEnd:
    """How an output ended, by what a server or a file says of it.

    >>> [str(ended(said)) for said in ("end_turn", None, "MAX_TOKENS", "content_filter: SAFETY", "error", "bored")]
    ['whole', 'whole', 'cut', 'filtered', 'failed', 'unknown']
    """
    if said is None or said == "":
        return OutputEnd.WHOLE
    word = _WORD.match(said.strip().lower()) if isinstance(said, str) else None
    return _ENDS.get(word[0], OutputEnd.UNKNOWN) if word else OutputEnd.UNKNOWN
