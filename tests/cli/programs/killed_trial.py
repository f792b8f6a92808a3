"""Sends one request in a trial, and is killed at a point of what follows from it.

Argument: the point, such as `before count`: before, in or after a step of the trial.
"""

import os
import signal
import sys
from typing import Any

import outkey
from outkey.sending.adapters.secrets.secrets_stored import StoredSecrets
from outkey.sending.engine.rotation.rotations import Rotations
from outkey.sending.engine.rotation.trial import Trials

STEPS: dict[str, type] = {"count": Trials, "reject": Rotations, "promote": Rotations}


def die(*_args: Any, **_options: Any) -> None:  # noqa: ANN401 - whatever it replaces
    """End this process as a power failure would."""
    os.kill(os.getpid(), signal.SIGKILL)


def main(when: str, name: str) -> None:
    owner = STEPS[name]
    step = getattr(owner, name)

    def interrupted(*args: Any, **options: Any) -> Any:  # noqa: ANN401
        if when == "before":
            die()
        if when == "in":
            StoredSecrets.vouch = die  # type: ignore[assignment, method-assign]
        result = step(*args, **options)
        die()
        return result

    setattr(owner, name, interrupted)
    outkey.open().send("acme", "GET", "/orders")


main(*sys.argv[1].split())
