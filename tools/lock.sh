#!/bin/sh
# Write the lock files anew: names, versions and hashes, no download address.
# Needs `uv` and `npm` on the PATH; nobody else needs the first.
set -eu
cd "$(dirname "$0")/.."
overrides=$(mktemp)
constraints=$(mktemp)
trap 'rm -f "$overrides" "$constraints"' EXIT
# httpbin names an old greenlet that it does not use here; Playwright needs a newer one.
echo 'greenlet>=3.1.1' > "$overrides"
# procrastinate takes any; botocore, which the tests sign beside, wants an older one.
echo 'python-dateutil<3' > "$constraints"
compile() {
  uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --override "$overrides" \
    --constraint "$constraints" \
    --no-annotate --no-header --no-emit-index-url --no-emit-find-links "$@"
}
compile pyproject.toml --extra server --group build --output-file requirements/server.lock
compile pyproject.toml --extra server --extra databases --extra parquet --group build --group dev --constraint requirements/server.lock \
  --output-file requirements/dev.lock
compile --group bench --constraint requirements/dev.lock --output-file requirements/bench.lock
compile --group judges --constraint requirements/dev.lock --output-file requirements/judges.lock
compile --group moto --output-file requirements/moto.lock
compile --group identities --output-file requirements/identities.lock
compile --group stores --output-file requirements/stores.lock
compile --group trac --output-file requirements/trac.lock
compile --group schemathesis --constraint requirements/dev.lock --output-file requirements/schemathesis.lock
(
  cd requirements/peers
  npm install --package-lock-only --omit-lockfile-registry-resolved --no-audit --no-fund --ignore-scripts
)
# npm writes down licences and addresses for donations too.
python3 - requirements/peers/package-lock.json << 'END'
import json, pathlib, sys
path = pathlib.Path(sys.argv[1])
lock = json.loads(path.read_text())
for package in lock["packages"].values():
    for fact in ("resolved", "license", "funding", "engines"):
        package.pop(fact, None)
path.write_text(json.dumps(lock, indent=2) + "\n")
END
if grep -n ':[/][/]' requirements/*.lock requirements/peers/*.lock requirements/peers/package-lock.json; then
  echo "a lock file holds a download address" >&2
  exit 1
fi
