"""A key that a command of the caller's prints, such as a token that expires: asked again when a server refuses it.

Clouds give keys for an hour (`az account get-access-token`, `gcloud auth print-access-token`). The caller alone names
the command. It runs without a shell, and what it prints is shown nowhere, also where it fails.
"""

import asyncio
import json
import os
import shlex
import subprocess
from collections.abc import Mapping
from typing import final

from judgeloop.core.errors import InputError

LONGEST_S = 60.0  # for the command
FIELDS = ("accessToken", "access_token", "token", "id_token")  # of JSON, as Azure's command prints it
OWN = "JUDGELOOP_"  # what begins the names of judgeloop's variables, of which the command gets none


@final
class PrintedKey:
    """The key that a command prints; `value` is the latest, and `earlier` are those before it."""

    def __init__(self, command: str, setting: str, environment: Mapping[str, str]) -> None:
        """Run the command; `setting` is how messages name it.

        Raises:
            InputError: it cannot be split or run, or prints no key.
        """
        self._setting = setting
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise InputError(f"`{setting}`: this is no command: {error}") from None
        if not self._words:
            raise InputError(f"`{setting}`: expected a command that prints a key")
        self._environment = {name: text for name, text in environment.items() if not name.startswith(OWN)}
        self._lock, self._accepted = asyncio.Lock(), False
        self.earlier: tuple[str, ...] = ()
        self.value = self._printed()

    def accepted(self) -> None:
        """Note that the server took the latest key."""
        self._accepted = True

    async def renewed(self, used: str) -> bool:
        """Whether there is another key than the one that was `used` and refused.

        The command runs again only if its latest key was accepted before: a key that was never good has not expired.

        Raises:
            InputError: the command prints no key now.
        """
        async with self._lock:
            if self.value != used or not self._accepted:
                return self.value != used
            self.earlier, self._accepted = (*self.earlier, self.value), False
            self.value = await asyncio.to_thread(self._printed)
            return self.value != used

    def _printed(self) -> str:
        """Run the command, and return what it prints: a key, or JSON that holds one."""
        name = os.path.basename(self._words[0])  # noqa: PTH119 - a name as a shell reads it
        try:
            done = subprocess.run(  # noqa: S603 - the command is the caller's own
                self._words, stdin=subprocess.DEVNULL, capture_output=True, env=self._environment,
                timeout=LONGEST_S, check=False,
            )  # fmt: skip
        except FileNotFoundError:
            raise InputError(f"`{self._setting}`: there is no command {name!r}") from None
        except subprocess.TimeoutExpired:
            raise InputError(f"`{self._setting}`: {name!r} printed no key within {LONGEST_S:g} s") from None
        except OSError as error:
            raise InputError(f"`{self._setting}`: {name!r} could not be run: {error.strerror}") from None
        if done.returncode:
            raise InputError(
                f"`{self._setting}`: {name!r} ended with exit code {done.returncode}; run it by hand to see why"
            )
        key = _key_in(done.stdout.decode("utf-8", "replace").strip())
        if not key or not (key.isascii() and key.isprintable() and " " not in key):
            raise InputError(
                f"`{self._setting}`: expected {name!r} to print a key of ASCII letters, digits and signs, or JSON with "
                f"one of {', '.join(FIELDS)}; it printed something else, which is not shown"
            )
        return key


def _key_in(text: str) -> str:
    """The key in what a command printed.

    >>> _key_in('{"accessToken": "ey.1", "expiresOn": "…"}'), _key_in("ya29.1")
    ('ey.1', 'ya29.1')
    """
    if not text.startswith("{"):
        return text
    try:
        found = json.loads(text)
    except ValueError:
        return ""
    return next((found[name] for name in FIELDS if isinstance(found.get(name), str)), "")
