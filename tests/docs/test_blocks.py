"""Every block of the handbook and the README is executed, or listed with a reason."""

import json
import logging
import os
import re
import shlex
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import outkey
from cli.conftest import Terminal
from cli.test_oauth1 import Agreeing
from cli.test_project import Project, make_project
from docs.blocks import API, ROOT, Block, Shell, blocks_of, matches, pages
from outkey.administration.adapters.policy_file import read_policy
from outkey.sending.adapters.tokens.tokens_memory import MemoryTokens
from outkey.sending.core.backends.settings import parse_backends
from outkey.spar import Spar
from outkey.spar.keyless import (
    WORKLOAD_ISSUER,
    WORKLOAD_SUBJECT,
    key_text,
    sign,
)
from outkey.spar.logins import PASSWORD
from outkey.spar.oauth1 import CONSUMER_SECRET
from outkey.spar.records import OAUTH1_TOKEN, OAUTH1_TOKEN_SECRET
from outkey.testing.canary import Canaries
from ports import free_port

LOG = logging.getLogger("blocks")  # shown with --log-cli-level=INFO
EVERY_BLOCK = [block for page in pages() for block in blocks_of(page)]
SECTIONS = {"configuration", "line", "pair", "database", "webhook"}
ACME = f"""\
[configuration.acme]
base_url = "{API}"
network = "internal"
authentication_type = "bearer"
token = "env:ACME_TOKEN"
verification = {{ test_path = "/bearer" }}
"""
SHOP = f"""\
[configuration.shop]
base_url = "{API}"
network = "internal"
authentication_type = "basic"
username = "user"
headers = [{{ key = "X-Tenant", value = "7" }}]

[line.orders]
configuration = "shop"
direction = "pull"
path = "/orders"
target = "table:orders"
keys = ["id"]
fields = [{{ api = "id", host = "id" }}]

[webhook.orders]
scheme = "shopify"
line = "orders"
"""
# Commands that no test of this file runs, each with what runs it or why nothing can.
# A command is written as it begins.
ELSEWHERE = {
    "docs/guide/pairs.md": "tests/docs/test_pairs_page.py runs the page",
    "docs/guide/sync-examples.md": "tests/peers runs them with the real servers",
    "docs/guide/test-your-code.md": "tests/docs/test_kit_page.py runs the page",
}
BLOCKS = [block for block in EVERY_BLOCK if block.page not in ELSEWHERE]
NOT_RUN = {
    ("README.md", "make test"): "it is what runs this test",
    ("docs/guide/http-api.md", "curl"): (
        "needs a server: tests/cli/test_http_interface.py sends the same"
    ),
    ("docs/guide/webhooks.md", "outkey webhook send"): (
        "needs a server: tests/cli/test_webhook_commands.py sends the same"
    ),
    ("docs/guide/webhooks.md", 'printf %s "$SECRET" | outkey spar webhook http'): (
        "needs a server: tests/cli/test_spar_webhooks.py sends the same"
    ),
    ("docs/guide/install.md", "python3 -m venv"): "the next commands need a network",
    ("docs/guide/install.md", ".venv-outkey/bin/pip"): (
        "downloads packages: tests/docs/test_package.py --full installs both variants"
    ),
    ("docs/guide/install.md", ".venv-outkey/bin/python"): (
        "needs what the commands before have installed"
    ),
    ("docs/guide/install.md", ".venv-outkey/bin/outkey"): (
        "needs what the commands before have installed"
    ),
    ("docs/guide/pages.md", "pip install"): "downloads packages",
    ("docs/guide/pages.md", "install -d"): "writes outside of the test's folder",
    ("docs/guide/production.md", "adduser"): "changes the users of the machine",
    ("docs/guide/production.md", "git clone"): "needs a copy on another machine",
    ("docs/guide/production.md", "cd /opt"): "writes outside of the test's folder",
    ("docs/guide/production.md", "install "): "writes outside of the test's folder",
    ("docs/guide/production.md", "cp deploy"): "writes outside of the test's folder",
    ("docs/guide/production.md", "systemctl"): "needs systemd as the first process",
    ("docs/guide/production.md", "journalctl"): "needs systemd as the first process",
    ("docs/guide/production.md", "outkey api-token"): "writes a file of Prometheus",
    ("docs/guide/production.md", "chown"): "changes a file of Prometheus",
    ("docs/guide/production.md", "chmod"): "changes a file of Prometheus",
    ("docs/guide/production.md", "set -a"): "reads a file outside of the folder",
    ("docs/guide/production.md", "export OUTKEY_HOME"): "another home than the test's",
    ("docs/guide/production.md", "runuser"): "changes to the user of the service",
    ("docs/guide/production.md", "outkey backup"): (
        "writes outside of the test's folder: tests/database/test_backups.py runs it"
    ),
    ("docs/guide/production.md", "outkey restore"): (
        "replaces a home: tests/database/test_backups.py runs it"
    ),
    ("docs/guide/synchronizing.md", "outkey worker"): (
        "needs PostgreSQL: tests/database runs workers"
    ),
    ("docs/tutorial/index.md", "rm -r"): "deletes what the test needs to look at",
}
# Commands that are run, but print something else than a page can show.
EXAMPLES = {
    ("docs/guide/http-api.md", "outkey api-token create"): "a token is random",
    ("docs/guide/pages.md", "outkey user password"): "the terminal shows a question",
}
# Blocks that are neither commands nor code.
NOT_CODE = {
    ("docs/guide/import.md", "type: Declar"): "a document: another test imports it",
    ("docs/guide/import.md", '{\n  "client"'): "a document: another test imports it",
    ("docs/guide/oauth2.md", " requested"): "a drawing of the life of a token",
    ("docs/guide/production.md", '{"ready"'): (
        "what /readyz returns: tests/cli/test_operating.py compares its keys"
    ),
    ("docs/guide/production.md", "Each line says"): (
        "a part of a check list: tests/docs/test_checklist.py compares its lines"
    ),
    ("docs/guide/production.md", "scrape_configs:"): (
        "settings of Prometheus: tests/peers/test_prometheus.py scrapes with them"
    ),
    ("docs/guide/vault.md", 'path "secret'): (
        "a policy of Vault, which no package index has"
    ),
    ("docs/guide/webhooks.md", "notifications:"): (
        "settings of docker-registry: tests/peers starts it with them"
    ),
    ("docs/guide/webhooks.md", "# urls.py"): (
        "a part of a project: tests/cli/projects has the same"
    ),
    ("docs/tutorial/index.md", "outkey is running."): (
        "what make run prints: test_make_run compares it"
    ),
    ("docs/tutorial/index.md", "curl '"): (
        "what a user pastes: tests/browser/test_tutorial.py does"
    ),
}
# How commands end that do not end with 0.
EXIT_CODES = {
    # After the fix the password is missing.
    # The old token is not revoked yet.
    ("docs/guide/rotation.md", "outkey rotation probe-old acme"): 1,
    ("docs/guide/testing.md", "outkey test acme --fix"): 2,
    ("docs/guide/testing.md", "outkey test acme"): 1,
}


def is_listed(listed: Iterable[tuple[str, str]], page: str, line: str) -> bool:
    return any(place == page and line.startswith(start) for place, start in listed)


@pytest.fixture(scope="module")
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


@pytest.fixture
def shell(
    tmp_path: Path, canary: Canaries, spar: Spar, monkeypatch: pytest.MonkeyPatch
) -> Shell:
    """A terminal in an empty folder, with a file and a token for the API."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    run = Terminal(tmp_path / "home", canary, {"ACME_TOKEN": "spar-token"})
    shell = Shell(run, folder, spar, {"outkey secret set acme token": "spar-token"})
    shell.save("acme.toml", ACME)
    return shell


def prepare_command_line(shell: Shell) -> None:
    """Prepare keys to rotate, and a shop whose document differs from what is stored."""
    shell.save("shop.toml", SHOP)
    assert shell.type("outkey apply shop.toml").code == 0
    for password in ("first", "second"):
        shell.run("secret", "set", "shop", "password", stdin=password)
    shell.run.settings["SHOP_PASSWORD"] = "third"
    changed = SHOP.replace('"user"', '"other"\npassword = "env:SHOP_PASSWORD"')
    changed = changed.replace('[{ key = "X-Tenant", value = "7" }]', "[]")
    shell.save("shop.toml", changed.replace("/orders", "/v2/orders"))
    shell.type("outkey apply acme.toml")
    shell.type("outkey secret set acme token")
    status = shell.run("keys", "status", "--json").json
    shell.replaced["OLD-ID"] = status["keys"][0]["id"]


def prepare_acme(shell: Shell) -> None:
    shell.type("outkey apply acme.toml")


def prepare_users(shell: Shell) -> None:
    for name in ("admin", "alice"):
        shell.run("user", "add", name, "--role", "Administrator", stdin="")


def prepare_import(shell: Shell) -> None:
    shell.stdin["pbpaste | outkey"] = f"curl {shell.spar.url}/bearer -u me:open-sesame"
    request = {
        "name": "list",
        "request": {"method": "GET", "url": "https://{{host}}/orders"},
    }
    schema = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
    collection = {"info": {"name": "shop", "schema": schema}, "item": [request]}
    values = [{"key": "host", "value": "api.shop.example"}]
    environment = {"name": "live", "values": values}
    description = {
        "openapi": "3.0.0",
        "info": {"title": "erp", "version": "1"},
        "servers": [{"url": "https://api.erp.example"}],
        "paths": {"/orders": {"get": {"responses": {}}}},
    }
    shell.save("collection.json", json.dumps(collection))
    shell.save("environment.json", json.dumps(environment))
    shell.save("openapi.yaml", json.dumps(description))


def prepare_oauth2(shell: Shell) -> None:
    url = shell.spar.url
    document = f"""
[configuration.acme]
base_url = "{url}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
verification = {{ test_path = "/oauth/api" }}
[configuration.acme.oauth2]
token_url = "{url}/oauth/token"
client_id = "spar-client"
client_secret = "env:ACME_CLIENT_SECRET"
"""
    shell.save("acme.toml", document)
    shell.stdin["outkey secret set acme client_secret"] = "spar-client-secret"
    shell.replaced["https://login.acme.example"] = f"{shell.spar.issuer} --internal"


def prepare_oauth1(shell: Shell) -> None:
    shell.spar.authorization.oauth1.temporary = Agreeing()
    for name in ("shop", "legs"):
        command = f"outkey secret set {name} consumer_secret"
        shell.stdin[command] = CONSUMER_SECRET
    shell.stdin["outkey secret set shop access_token_secret"] = OAUTH1_TOKEN_SECRET
    shell.stdin["outkey secret set shop access_token"] = OAUTH1_TOKEN
    shell.stdin["outkey token authorize legs"] = "12345678\n"


def prepare_login(shell: Shell) -> None:
    for name in ("steps", "sap"):
        shell.stdin[f"outkey secret set {name} password"] = PASSWORD


def prepare_aws(shell: Shell) -> None:
    secret = "spar-secret-access-key"
    shell.stdin["outkey secret set queue secret_access_key"] = secret


def prepare_exchange(shell: Shell) -> None:
    shell.stdin["outkey secret set crm client_secret"] = "spar-client-secret"
    shell.run.settings["ALICE"] = "spar-user-alice"
    shell.run.settings["BOB"] = "spar-user-bob"


def prepare_keyless(shell: Shell) -> None:
    shell.stdin["cat key.json | outkey secret set signed private_key"] = key_text()
    now = int(time.time())
    claims: dict[str, object] = {
        "iss": WORKLOAD_ISSUER,
        "sub": WORKLOAD_SUBJECT,
        "aud": shell.spar.url,
        "iat": now,
        "exp": now + 300,
    }
    shell.run.settings["WORKLOAD_TOKEN"] = sign(claims)


def prepare_rotation(shell: Shell) -> None:
    """Enter the next token of the sparring provider where the page stages one."""
    shell.stdin["outkey secret stage acme token"] = "spar-next-token"


def prepare_connections(shell: Shell) -> None:
    """Enter the tokens of two customers."""
    tokens = {"acme": "spar-token", "globex": "spar-next-token"}
    for name, token in tokens.items():
        shell.stdin[f"outkey secret set books token --connection {name}"] = token


def prepare_script(shell: Shell) -> None:
    (block,) = (
        block
        for block in BLOCKS
        if block.page == "docs/guide/scripts.md" and block.language == "toml"
    )
    text = block.code.replace("https://api.acme.example", shell.spar.url)
    shell.run.settings["ACME_KEY"] = "spar-signing-key"
    internal = (
        '[configuration.acme]\nnetwork = "internal"\nno_auth_reason = "internal"\n'
    )
    shell.save("script.toml", text.replace("[configuration.acme]\n", internal))
    assert shell.type("outkey apply script.toml").code == 0


def prepare_wrong_scheme(shell: Shell) -> None:
    shell.save("acme.toml", ACME.replace("/bearer", "/basic"))
    shell.type("outkey apply acme.toml")


def prepare_webhook(shell: Shell) -> None:
    block = next(block for block in BLOCKS if "[webhook.shop]" in block.code)
    shell.save("shop.toml", block.code)
    shell.stdin["outkey webhook secret shop"] = "made-up-secret-of-the-shop"
    shell.run.settings["OUTKEY_PUBLIC_URL"] = "https://outkey.example"


def prepare_table(shell: Shell) -> None:
    (block,) = (
        block
        for block in BLOCKS
        if block.page == "docs/guide/tables.md" and block.language == "toml"
    )
    shell.save("tables.toml", block.code)
    shell.run.settings["WAREHOUSE_URL"] = f"sqlite:///{shell.folder / 'warehouse.db'}"
    shell.run.settings["OUTKEY_SQLITE_FOLDERS"] = str(shell.folder)
    assert shell.type("outkey apply tables.toml").code == 0


PREPARED: dict[str, Callable[[Shell], None]] = {
    "docs/guide/aws.md": prepare_aws,
    "docs/guide/command-line.md": prepare_command_line,
    "docs/guide/connections.md": prepare_connections,
    "docs/guide/data-protection.md": prepare_users,
    "docs/guide/drill.md": prepare_acme,
    "docs/guide/http-api.md": prepare_acme,
    "docs/guide/import.md": prepare_import,
    "docs/guide/keyless.md": prepare_keyless,
    "docs/guide/login.md": prepare_login,
    "docs/guide/oauth1.md": prepare_oauth1,
    "docs/guide/oauth2.md": prepare_oauth2,
    "docs/guide/pages.md": prepare_users,
    "docs/guide/posture.md": prepare_acme,
    "docs/guide/rotation.md": prepare_rotation,
    "docs/guide/scripts.md": prepare_script,
    "docs/guide/token-exchange.md": prepare_exchange,
    "docs/guide/tables.md": prepare_table,
    "docs/guide/testing.md": prepare_wrong_scheme,
    "docs/guide/webhooks.md": prepare_webhook,
}


def is_run(page: str, line: str) -> bool:
    return not is_listed(NOT_RUN, page, line) and not line.startswith("make ")


WITH_COMMANDS = [
    *dict.fromkeys(
        block.page
        for block in BLOCKS
        if block.has_commands
        and any(is_run(block.page, command.line) for command in block.commands())
    )
]


@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_the_commands_of_a_page_do_what_it_shows(
    page: str, shell: Shell, canary: Canaries, tmp_path: Path
) -> None:
    project = make_project(tmp_path, canary)
    (project.folder / "acme.toml").write_text((shell.folder / "acme.toml").read_text())
    PREPARED.get(page, lambda _shell: None)(shell)
    for block in BLOCKS:
        if block.page != page:
            continue
        if block.file:
            shell.save(block.file, block.code)
        if block.has_commands:
            run_commands(block, shell, project)


def run_commands(block: Block, shell: Shell, project: Project) -> None:
    for command in block.commands():
        if not is_run(block.page, command.line):
            continue  # of make: see below
        if command.line.startswith("python manage.py "):
            manage(project, command.line)
            continue
        done = shell.type(command.line)
        codes = (
            code
            for (page, start), code in EXIT_CODES.items()
            if page == block.page and command.line.startswith(start)
        )
        assert done.code == next(codes, 0), (command.line, done.out, done.err)
        if command.output and not is_listed(EXAMPLES, block.page, command.line):
            # A page may show both streams, as a terminal does.
            printed = (done.out, done.err + done.out)
            is_shown = any(matches(command.output, text) for text in printed)
            assert is_shown, (command.line, printed)


def manage(project: Project, line: str) -> None:
    _, _, *arguments = shlex.split(line, comments=True)
    if arguments[0] == "outkey_worker":
        assert project.manage("help", arguments[0]).code == 0  # runs until it is ended
        return
    project.run([sys.executable, "manage.py", "migrate", "--verbosity", "0"])
    done = project.run(
        [sys.executable, "manage.py", *arguments],
        stdin="spar-token",
        ACME_TOKEN="spar-token",
    )
    assert done.code == 0, (line, done.out, done.err)


def test_make_run_serves_until_ctrl_c_and_prints_what_the_tutorial_shows() -> None:
    (shown,) = (
        block.code for block in BLOCKS if block.code.startswith("outkey is running.")
    )
    port = free_port()
    # The file that make would make anew is taken as it is: the test is not about pip.
    command = ["make", "--silent", "--assume-old=.venv/.server", "run", f"PORT={port}"]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    printed = ""
    for line in process.stdout:
        printed += line
        if "Password" in line:
            break
    os.killpg(process.pid, signal.SIGINT)
    printed += process.communicate(timeout=60)[0]
    assert process.returncode in {0, -signal.SIGINT}  # make ends as it was asked to
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 5)
    wanted = shown.strip().replace("8765", str(port))
    assert matches(f"{wanted}\n…", printed), printed


def test_make_spar_starts_the_api_of_the_pages() -> None:
    printed = subprocess.run(
        ["make", "--silent", "--assume-old=.venv/.server", "--dry-run", "spar"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    command = [*shlex.split(printed), "--port", str(free_port())]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert "is running" in process.stdout.readline()
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 0


@pytest.mark.parametrize(
    "page",
    dict.fromkeys(block.page for block in EVERY_BLOCK if block.language == "toml"),
)
def test_the_toml_of_a_page_is_accepted(page: str, tmp_path: Path) -> None:
    texts = [
        block.code
        for block in EVERY_BLOCK
        if block.page == page and block.language == "toml"
    ]
    backends = [text for text in texts if "backend" in tomllib.loads(text)]
    for text in backends:
        parse_backends(text)
    texts = [text for text in texts if text not in backends]
    policies = [text for text in texts if not SECTIONS & tomllib.loads(text).keys()]
    for text in policies:
        (tmp_path / "config").mkdir(exist_ok=True)
        (tmp_path / "config" / "policy.toml").write_text(text, encoding="utf-8")
        read_policy(tmp_path, {})
    for whole in documents([text for text in texts if text not in policies]):
        accept(whole, tmp_path)


def documents(texts: Iterable[str]) -> list[str]:
    """Join blocks; one that has a table of an earlier one begins a new document."""
    joined: list[str] = []
    for text in texts:
        whole = f"{joined[-1]}\n{text}" if joined else text
        try:
            tomllib.loads(whole)
        except tomllib.TOMLDecodeError:
            joined.append(text)
        else:
            joined[-1:] = [whole]
    return joined


def accept(whole: str, folder: Path) -> None:
    """Load a document, in which base URLs may be missing."""
    read = tomllib.loads(whole)
    lines = read.get("line", {}).values()
    wanted = {line["configuration"] for line in lines} | {"acme"}
    for name in wanted | read.get("configuration", {}).keys():
        if "base_url" not in read.get("configuration", {}).get(name, {}):
            whole = (
                f'[configuration.{name}]\nbase_url = "https://api.{name}.example"\n'
                f"{whole}"
            )
    file = folder / "a.toml"
    file.write_text(whole, encoding="utf-8")
    names = [name for name in tomllib.loads(whole)["configuration"] if name != "acme"]
    name = next(iter([*read.get("configuration", ()), *names]))
    with outkey.load(file, tokens=MemoryTokens(time.time)) as gateway:
        report = gateway.test(name)
    if report.cause != "connection_missing":
        assert report.findings[0].id in {"E-secret_missing", "E-backend_unknown"}


def test_the_sql_of_a_page_runs(shell: Shell) -> None:
    shell.run("list", OUTKEY_DEMO="1")
    path = shell.run.home / "data" / "outkey.sqlite3"
    executed = 0
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE state (kind, key, generation, value)")
        for block in BLOCKS:
            if block.language == "sql":
                for statement in block.code.split(";\n"):
                    names = re.findall(r":(\w+)", statement)
                    database.execute(statement, dict.fromkeys(names, ""))
                executed += 1
    assert executed == 2


def test_the_json_of_a_page_has_the_keys_that_are_printed(shell: Shell) -> None:
    shell.type("outkey apply acme.toml")
    drill = shell.run("spar", "drill", "acme", "--scenario", "flapping", "--json").json
    pasted = f"curl -k '{shell.spar.url}/orders?page=1' -H 'Authorization: Bearer abc'"
    imported = shell.run("import", "-", "--json", stdin=pasted).json
    refused = shell.run("show", "nothing", "--json").json
    printed = {
        "docs/guide/drill.md": drill,
        "docs/guide/import.md": imported,
        "docs/guide/http-api.md": refused,
    }
    blocks = [
        block
        for block in BLOCKS
        if block.language == "json" and not is_listed(NOT_CODE, block.page, block.code)
    ]
    assert {block.page for block in blocks} == printed.keys()
    for block in blocks:
        assert shape(json.loads(block.code)) == shape(printed[block.page]), block.page


def test_the_documents_of_the_page_about_imports_become_lines(shell: Shell) -> None:
    beginnings = ("type: Declar", '{\n  "client"')
    documents = [
        block.code
        for block in BLOCKS
        if block.page == "docs/guide/import.md" and block.code.startswith(beginnings)
    ]
    lines = [
        [
            line["name"]
            for line in shell.run("import", "-", "--json", stdin=text).json["lines"]
        ]
        for text in documents
    ]
    assert lines == [["acme orders"], ["acme orders", "acme items"]]


def shape(value: object) -> object:
    """Return the keys of a document, without its values."""
    if isinstance(value, dict):
        return {key: shape(inside) for key, inside in value.items()}
    return [shape(inside) for inside in value[:1]] if isinstance(value, list) else None


def test_the_programs_of_a_page_run_with_an_installation(shell: Shell) -> None:
    shell.type("outkey apply acme.toml")
    programs = [
        block
        for block in BLOCKS
        if block.language == "py" and "def compute_auth_header" not in block.code
    ]
    # A loop without end is left where it would wait.
    end = "import sys, time\ntime.sleep = sys.exit\nimport django\n"
    setup = (
        "from outkey.hosts.server.home import prepare\n"
        "prepare('outkey.hosts.server.settings_pages')\n"
    )
    executed = []
    for block in programs:
        if block.code.startswith("GOLDEN"):
            continue
        code = block.code.replace("/orders", "/bearer")
        done = subprocess.run(
            [sys.executable, "-c", end + setup + code],
            env=shell.run.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode in {0, 60}, done.stderr  # 60: time.sleep(60)
        executed.append(block.page)
    assert {"docs/guide/in-your-project.md", "docs/guide/watch.md"} <= {*executed}


def test_the_script_of_the_page_passes_its_own_example(shell: Shell) -> None:
    script, signed_query, example = (
        block.code
        for block in BLOCKS
        if block.page == "docs/guide/scripts.md" and block.language == "py"
    )
    document = (
        f'[configuration.acme]\nbase_url = "{shell.spar.url}"\nnetwork = "internal"\n'
        'no_auth_reason = "internal"\nsecret_key = "env:ACME_TOKEN"\n'
        f"script = '''\n{script}\n\n{example}'''\n"
    )
    shell.save("script.toml", document)
    assert shell.type("outkey apply script.toml").code == 0
    shell.save("script.toml", document.replace("21baf5", "21baf6"))
    assert shell.type("outkey apply script.toml").code == 2
    other = document.replace(f"{script}\n\n{example}", signed_query)
    shell.save("script.toml", other)
    assert shell.type("outkey apply script.toml").code == 0
    shell.save("script.toml", other.replace("1700000300", "1700000301"))
    assert shell.type("outkey apply script.toml").code == 2


def test_every_block_is_executed_or_has_a_reason() -> None:
    executed = {"python", "py", "toml", "json", "sql"}
    unknown = []
    for block in BLOCKS:
        if block.language in executed or block.has_commands:
            continue
        if not is_listed(NOT_CODE, block.page, block.code):
            unknown.append((block.page, block.language, block.code[:60]))
    assert unknown == []


def test_every_reason_is_about_a_block_that_exists() -> None:
    lines = [
        (block.page, command.line)
        for block in BLOCKS
        if block.has_commands
        for command in block.commands()
    ]
    others = [(block.page, block.code) for block in BLOCKS if not block.has_commands]
    for listed, texts in ((NOT_RUN, lines), (EXAMPLES, lines), (NOT_CODE, others)):
        for (page, start), reason in listed.items():
            LOG.info("%s: %s is not run here: %s", page, start, reason)
            assert any(is_listed([(page, start)], *text) for text in texts), start
    pages_with_blocks = {block.page for block in EVERY_BLOCK}
    for page, reason in ELSEWHERE.items():
        LOG.info("%s is not run here: %s", page, reason)
        assert page in pages_with_blocks
