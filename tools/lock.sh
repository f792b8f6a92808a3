#!/bin/sh
# Write the lock files anew: names, versions and hashes, no download address.
# Needs `uv` on the PATH; nobody else does.
set -eu
cd "$(dirname "$0")/.."
overrides=$(mktemp)
trap 'rm -f "$overrides"' EXIT
# httpbin names an old greenlet that it does not use here; Playwright needs a newer one.
echo 'greenlet>=3.1.1' > "$overrides"
compile() {
  uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --override "$overrides" \
    --no-annotate --no-header --no-emit-index-url --no-emit-find-links "$@"
}
compile pyproject.toml --extra server --group build --output-file requirements/server.lock
compile pyproject.toml --extra server --group build --group dev --constraint requirements/server.lock \
  --output-file requirements/dev.lock
compile --group bench --constraint requirements/dev.lock --output-file requirements/bench.lock
if grep -n ':[/][/]' requirements/*.lock; then
  echo "a lock file holds a download address" >&2
  exit 1
fi
