"""What a preview costs, and the checks that every send starts with.

CPU µs of `gateway.preview` and of `refuse_unsendable`, by authentication type, of the
best of many short rounds that take turns. Nothing is sent. One preview is measured
twice: the ratio of the two is the noise.

Exit status: 0 every budget holds, 1 one is missed, 3 too noisy to judge.
"""

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from candidates import TOKEN
from headers import cpu
from report import Budget, finish

from outkey.hosts.file.loading import from_text
from outkey.sending.core.configuration.checks import refuse_unsendable
from outkey.testing import configuration

ROUNDS, CALLS = 60, 100
PREVIEW_LIMIT, CHECKS_LIMIT = 150.0, 8.0
QUIET = (0.9, 1.1)
TYPES = {
    "bearer": f'token = "env:{TOKEN}"',
    "basic": f'username = "erp"\npassword = "env:{TOKEN}"',
    "none": 'no_auth_reason = "public_api"',
}
OAUTH2: dict[str, Any] = {
    "authentication_type": "bearer",
    "token_source": "oauth2",
    "oauth2__token_url": "https://auth.acme.example/token",
    "oauth2__client_id": "erp",
}


def document() -> str:
    """Return a document with a configuration of each type that needs no Token URL."""
    return "".join(
        f'[configuration.{name}]\nbase_url = "https://api.acme.example"\n'
        f'authentication_type = "{name}"\n{rest}\n'
        for name, rest in TYPES.items()
    )


def measured() -> dict[str, Callable[[], object]]:
    """Return what is measured, by its name."""
    gateway = from_text(document())
    previews = {f"preview, {name}": partial(gateway.preview, name) for name in TYPES}
    again = {"preview again": partial(gateway.preview, "bearer")}
    checks = {"checks, oauth2": partial(refuse_unsendable, configuration(**OAUTH2))}
    return {**previews, **again, **checks}


def main() -> int:
    os.environ[TOKEN] = "0123456789abcdef"
    functions = measured()
    rounds: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(ROUNDS):
        for name, function in functions.items():
            rounds[name].append(cpu(function, CALLS))
    best = {name: min(each) for name, each in rounds.items()}
    noise = best.pop("preview again") / best["preview, bearer"]
    limits = dict.fromkeys(best, PREVIEW_LIMIT) | {"checks, oauth2": CHECKS_LIMIT}
    budgets = [Budget(f"µs: {name}", us, limits[name]) for name, us in best.items()]
    quiet = QUIET[0] <= noise <= QUIET[1]
    return finish("preview", {"µs": best, "noise": noise}, budgets, quiet=quiet)


if __name__ == "__main__":
    sys.exit(main())
