"""Send a request with the library alone: no Django, no command line, no checkout.

Arguments: the URL of a server, and the folder below which outkey must be installed.
"""

import importlib.util
import sys
from pathlib import Path

import outkey

url, environment = sys.argv[1:]
assert Path(environment) in Path(outkey.__file__).parents, outkey.__file__
for missing in ("django", "typer", "rich", "sqlalchemy"):
    assert importlib.util.find_spec(missing) is None, missing

document = Path("configurations.toml")
document.write_text(
    f'[configuration.acme]\nbase_url = "{url}"\nnetwork = "internal"\n'
    'authentication_type = "bearer"\ntoken = "env:ACME_TOKEN"\n',
    encoding="utf-8",
)
gateway = outkey.load(str(document))
print(gateway.send("acme", "GET", "/bearer").status)
gateway.close()
try:
    outkey.open()
except outkey.errors.OutkeyError as error:
    print(error.hint)
