"""A host with no more packages than it needs: what is missing is named by its extra."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
# All that `outkey[server]` brings, but not `pip install outkey`.
SERVER = [
    "axes",
    "cronsim",
    "django",
    "joserfc",
    "ninja",
    "procrastinate",
    "prometheus_client",
    "psycopg",
    "pydantic",
    "pymysql",
    "rich",
    "sqlalchemy",
    "trustme",
    "typer",
    "waitress",
    "whitenoise",
    "yaml",
]
HEAD = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(TESTS)!r})
sys.modules.update(dict.fromkeys({SERVER!r}))
for name in sys.argv[2].split():
    del sys.modules[name]
import outkey
from outkey.errors import ConfigError
home = Path(sys.argv[1])
"""


def run(program: str, home: Path, packages: str = "") -> str:
    """Run a program without the packages of extras, but with these; return its output.

    ModuleNotFoundError ends it, as everything that it does not expect.
    """
    done = subprocess.run(
        [sys.executable, "-c", HEAD + program, home, packages],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


REFUSED = """
try:
    {call}
except ConfigError as error:
    print(error.message, "|", error.hint)
"""


@pytest.mark.parametrize(
    ("call", "packages", "package", "extra"),
    [
        ("application.sync_ports()", "", "cronsim", "sync"),
        ("application.sync_ports().tables.list()", "cronsim", "sqlalchemy", "tables"),
        ("read_import('openapi: 3.0.0\\npaths: {}')", "", "yaml", "server"),
    ],
)
def test_a_missing_package_is_an_error_that_names_its_extra(
    tmp_path: Path, call: str, packages: str, package: str, extra: str
) -> None:
    program = (
        "from third_host.host import open_application\n"
        "from outkey.hosts.importing import read_import\n"
        "application = open_application(home)\n" + REFUSED.format(call=call)
    )
    assert run(program, tmp_path, packages) == (
        f'the package {package} is not installed | Run: pip install "outkey[{extra}]"'
    )


def test_a_login_is_sent_with_the_packages_of_outkey_alone(tmp_path: Path) -> None:
    program = """
import os
from outkey.spar import Spar
os.environ["SHOP_PASSWORD"] = "open sesame"
with Spar() as spar:
    (home / "shop.toml").write_text(f'''
[configuration.shop]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
token_source = "login"
username = "sparring"
password = "env:SHOP_PASSWORD"

[configuration.shop.login]
path = "/login/json"
body = \'{{"email": "{{username}}", "password": "{{password}}"}}\'
token = "data.access_token"
''')
    gateway = outkey.load(home / "shop.toml")
    print(gateway.send("shop", "GET", "/login/api").status)
"""
    assert run(program, tmp_path) == "200"
