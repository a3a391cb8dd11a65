"""A server on loopback that answers as two recorded systems and as their judge, and keeps the bill.

    python benchmarks/recorded_server.py DATA FIRST SECOND [RATIO]

It prints its port. The model's name in a request says who is asked: one of the systems, or `judge`. A
system answers a prompt with its recorded output; the judge finds the outputs in the text that it is
sent, and prefers the one that GPT-4's recorded verdicts prefer. It answers in JSON where a form is
asked for, else with the number of the better output. A system's reply takes 0.1 s and a millisecond for
each token that it writes, and the judge's RATIO times as long as theirs on average (0.3 by default).
`GET /bill` says how many requests each model got and what they cost, and begins a new bill.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from bill import texts_of
from live import DOLLARS, TOKEN
from score_tables import score_table

JUDGE = "judge"
BEGINS_S, TOKEN_S = 0.1, 0.001
USUAL_RATIO = 0.3
REASON = "The better answer follows the instruction more closely, and it is more complete and correct. " * 2


class Recorded:
    """What the server knows, and its bill."""

    def __init__(self, data: Path, pair: tuple[str, str], ratio: float) -> None:
        """Read the recorded outputs and verdicts of a pair of systems.

        A call to the judge takes `ratio` times the seconds of a mean output.
        """
        folder = data / "alpacaeval"
        self.prompts, texts = texts_of(folder)
        self.ids = {prompt.strip(): item for item, prompt in self.prompts.items()}
        self.texts = {name: texts[name] for name in pair}
        self.pair = pair
        table = score_table(folder / "verdicts-gpt4.csv.gz")
        rows = [table.scores[table.systems.index(name)] for name in pair]
        self.scores = {item: (rows[0][place], rows[1][place]) for place, item in enumerate(table.items)}
        outputs = [text for own in self.texts.values() for text in own.values()]
        self.judging_s = ratio * statistics.mean(_seconds(_tokens(text)) for text in outputs)
        self.requests: Counter[str] = Counter()
        self.usd: Counter[str] = Counter()

    def reply(self, request: dict[str, Any]) -> tuple[bytes, float]:
        """Return the reply to a request, and the seconds that it takes."""
        said = "\n".join(_text(message["content"]) for message in request["messages"])
        model = request["model"]
        if model == JUDGE:
            text = self._verdict(said, as_json="response_format" in request)
        else:
            text = self.texts[model].get(self.ids[_text(request["messages"][-1]["content"]).strip()], "")
        read, written = _tokens(said), _tokens(text)
        self.requests[model] += 1
        self.usd[model] += (read * DOLLARS[0] + written * DOLLARS[1]) / 1e6
        usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        body = {
            "id": "x", "object": "chat.completion", "created": 1, "model": model, "usage": usage,
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        }  # fmt: skip
        return json.dumps(body).encode(), self.judging_s if model == JUDGE else _seconds(written)

    def _verdict(self, said: str, *, as_json: bool) -> str:
        """Return the recorded verdict on the outputs in a text, in the order shown there."""
        try:
            item, places = self._shown(said)
        except LookupError:  # of a tool that shows no whole outputs
            self.requests["lost"] += 1
            return "0"
        first, second = self.scores[item]
        better = 0 if first > second else 1 if second > first else None
        if places[0] > places[1] and better is not None:
            better = 1 - better
        if not as_json:
            return str(better or 0)
        return json.dumps({"reason": REASON, "winner": "tie" if better is None else "AB"[better]})

    def _shown(self, said: str) -> tuple[str, list[int]]:
        """Return the item whose outputs stand in a text, and where each begins."""
        plain = _unpacked(said)
        found: dict[str, list[int]] = {}
        for item in self.prompts:
            places = self._places([self.texts[name].get(item, "").strip() for name in self.pair], plain)
            if places:
                found[item] = places
        if not found:
            raise LookupError("neither output is in the text")
        # Short outputs may stand in others: those of the item are the longest.
        longest = max(found, key=lambda item: sum(len(self.texts[name].get(item, "")) for name in self.pair))
        return longest, found[longest]

    @staticmethod
    def _places(texts: list[str], plain: str) -> list[int]:
        """Return where both texts begin, the longer one first looked for; [] if one is missing."""
        places = [-1, -1]
        for number in sorted((0, 1), key=lambda number: -len(texts[number])):
            places[number] = plain.rfind(texts[number]) if texts[number] else -1
            if places[number] < 0:
                return []
            end = places[number] + len(texts[number])
            plain = plain[: places[number]] + "\0" * len(texts[number]) + plain[end:]
        return places

    def bill(self) -> bytes:
        """Return the bill, and begin a new one."""
        found = {"requests": dict(self.requests), "usd": dict(self.usd)}
        self.requests.clear()
        self.usd.clear()
        return json.dumps(found).encode()


def _unpacked(said: str) -> str:
    """Return a text with the texts of the JSON object in it, if there is one, in its place."""
    before, begin, rest = said.partition("\n{\n")
    inner, end, after = rest.rpartition("\n}\n")
    try:
        values = json.loads("{" + inner + "}") if begin and end else {}
    except ValueError:
        values = {}
    if "answer_A" not in values:
        return said
    texts = [values[name] or "" for name in ("task", "answer_A", "answer_B")]
    return "\n".join([before, *texts, after])


def _tokens(text: str) -> int:
    """Return about how many tokens a text has."""
    return -(-max(1, len(text)) // TOKEN)


def _seconds(tokens: int) -> float:
    """Return how long it takes to write so many tokens."""
    return BEGINS_S + tokens * TOKEN_S


def _text(content: str | list[dict[str, str]]) -> str:
    """Return a message's text, whole or in parts."""
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


async def serve(recorded: Recorded) -> None:
    """Print the port, then answer."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                if head.startswith(b"get"):
                    body, wait_s, status = recorded.bill(), 0.0, b"200 OK"
                else:
                    length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
                    request, status = await reader.readexactly(length), b"200 OK"
                    try:
                        body, wait_s = recorded.reply(json.loads(request))
                    except (KeyError, TypeError):  # promptfoo sends a prompt of JSON as messages
                        body, wait_s, status = b"{}", 0.0, b"400 Bad Request"
                await asyncio.sleep(wait_s)
                kind = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\n" % status
                writer.write(kind + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    ratio = float(sys.argv[4]) if len(sys.argv) > 4 else USUAL_RATIO
    asyncio.run(serve(Recorded(Path(sys.argv[1]), (sys.argv[2], sys.argv[3]), ratio)))
