"""What storage costs: opening a secret, rotating all under load, starting a command.

30 000 secrets in 10 000 configurations are rewrapped while another thread keeps sending
with one of them to a local nginx; no send may fail. The commands are started as
processes, the fastest of several counts.

Exit status: 0 every budget holds, 1 one is missed, 2 no server.
"""

import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import timeit
from pathlib import Path
from typing import Any

import nginx
from report import Budget, finish
from rich.console import Console
from rich.progress import track

CONFIGURATIONS, SECRETS_EACH = 10_000, 3
DECRYPT_MICROSECONDS, REWRAP_SECONDS, HELP_SECONDS, PREVIEW_SECONDS = (
    10.0,
    60.0,
    0.3,
    0.8,
)


def decrypting() -> float:
    """Return the CPU µs to open an envelope of a 40 byte secret."""
    from outkey.foundation.core.secret import Secret
    from outkey.sending.adapters.secrets.keyring import new_keyring
    from outkey.sending.adapters.secrets.secrets_envelope import seal, unseal
    from outkey.sending.core.vault.envelope import secret_place

    ring, place = (
        new_keyring(),
        secret_place("r" * 32, "token", 1, "https://api.acme.example:443"),
    )
    sealed = seal(Secret("x" * 40), place, ring)
    timer = timeit.Timer(lambda: unseal(sealed, place, ring), timer=time.process_time)
    return min(timer.repeat(20, 2000)) / 2000 * 1e6


def filled(folder: Path, url: str, token: str) -> Any:  # noqa: ANN401 - an Application
    """Return an installation with all configurations, and one that the server takes."""
    os.environ["OUTKEY_HOME"] = str(folder)
    from outkey.hosts.server.home import prepare

    home = prepare()
    from outkey.administration.core.document.document import parse_document
    from outkey.administration.engine.editing.administration import Administration
    from outkey.foundation.core.secret import Secret
    from outkey.hosts.django.wiring import install

    application = install(home)
    administration = Administration(
        application.registry, application.secrets, application.audit, "bench"
    )
    rows = "headers = [{ key = 'X-Key-0' }, { key = 'X-Key-1' }]"
    text = "\n".join(
        f"[configuration.c{number}]\nbase_url = '{url}'\nnetwork = 'internal'\n"
        f"authentication_type = 'bearer'\n{rows}"
        for number in range(CONFIGURATIONS)
    )
    application.apply(administration, parse_document(text), dry_run=False)
    console = Console(stderr=True)
    stored = application.registry.all()
    for start in track(
        range(0, CONFIGURATIONS, 500), "filling", console=console, transient=True
    ):
        with application.registry.transaction():
            for configuration in stored[start : start + 500]:
                fields = ("token", "header:X-Key-0", "header:X-Key-1")
                for field in fields:
                    application.secrets.set_value(configuration, field, Secret(token))
                application.registry.note_secrets_changed(configuration.name)
                stored_now = application.registry.find([configuration.name])[
                    configuration.name
                ]
                application.secrets.vouch(stored_now, fields)
    return application


def rewrapping(application: Any) -> dict[str, float]:  # noqa: ANN401 - an Application
    """Rotate the key during sends; return the seconds, the sends and their failures."""
    key = application.rotation.add(lambda _: None)
    application.rotation.promote(key, lambda _: None)
    done, counts = threading.Event(), {"sent": 0, "failed": 0}

    def keep_sending() -> None:
        from django.db import connection

        while not done.is_set():
            try:
                failed = application.gateway.send("c7", "GET", "/").status != 200
            except Exception as error:  # noqa: BLE001 - counted, whatever it is
                print(type(error).__name__, file=sys.stderr)
                failed = True
            counts["failed" if failed else "sent"] += 1
        connection.close()

    sender = threading.Thread(target=keep_sending)
    sender.start()
    started = time.perf_counter()
    rewrapped = sum(application.secrets.rewrap())
    seconds = time.perf_counter() - started
    done.set()
    sender.join()
    if rewrapped < CONFIGURATIONS * SECRETS_EACH:
        raise RuntimeError("not all secrets were rewrapped")
    return {"rewrap, s": seconds, **counts}


def starting(*arguments: str, times: int = 7) -> float:
    """Return the seconds that a command takes, at its best."""
    command = [sys.executable, "-m", "outkey.hosts.cli.main", *arguments]
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def main() -> int:
    token = secrets.token_urlsafe(30)
    with tempfile.TemporaryDirectory() as folder:
        server = Path(folder, "nginx")
        server.mkdir()
        try:
            with nginx.serving(server, token) as url:
                application = filled(Path(folder, "home"), url, token)
                found: dict[str, Any] = {"decrypt, µs": decrypting()} | rewrapping(
                    application
                )
        except nginx.NginxMissing:
            print(
                "missing program: nginx (Debian package nginx-light)", file=sys.stderr
            )
            return 2
        found["help, s"] = starting("--help")
        found["preview, s"] = starting("preview", "c7")
        found["list of all, s"] = starting("list", "--json", times=2)
    budgets = [
        Budget("open an envelope, µs", found["decrypt, µs"], DECRYPT_MICROSECONDS),
        Budget("rewrap 30 000 secrets, s", found["rewrap, s"], REWRAP_SECONDS),
        Budget(f"failed of {found['sent']} sends meanwhile", found["failed"], 0),
        Budget("outkey --help, s", found["help, s"], HELP_SECONDS),
        Budget("outkey preview, s", found["preview, s"], PREVIEW_SECONDS),
    ]
    return finish("storage", found, budgets)


if __name__ == "__main__":
    sys.exit(main())
