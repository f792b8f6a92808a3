#!/bin/sh
# setup.sh PYTHON VENV LOCK [PROGRAM=DEBIAN-PACKAGE...]
# Create a virtual environment from a lock file; as root on Debian, install missing programs too.
# A program that cannot be installed is not an error here: the tests that need it name it.
# It takes minutes on a fresh machine, so each step says what it installs, and how many.
set -eu
. tools/interruptible.sh
python=$1 venv=$2 lock=$3
shift 3
began=$(date +%s)

apt_install() {
  [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null || return 1
  echo "installing $*$place from Debian"
  DEBIAN_FRONTEND=noninteractive
  export DEBIAN_FRONTEND
  run apt-get install -y -qq --no-install-recommends "$@" > /dev/null 2>&1 && return 0
  run apt-get update -qq > /dev/null 2>&1 && run apt-get install -y -qq --no-install-recommends "$@" > /dev/null
}

command -v "$python" > /dev/null || {
  echo "error: $python was not found. Choose an interpreter with: make PYTHON=/path/to/python ..." >&2
  exit 1
}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "error: outkey needs Python 3.11 or newer. Choose one with: make PYTHON=python3.12 ..." >&2
  exit 1
}

number=0 place=
for pair in "$@"; do
  number=$((number + 1))
  place=", program $number of $#,"
  command -v "${pair%%=*}" > /dev/null || [ -x "/usr/sbin/${pair%%=*}" ] ||
    apt_install "${pair##*=}" || echo "missing program: ${pair%%=*} (Debian package ${pair##*=})"
done

if [ ! -x "$venv/bin/pip" ] || [ "$("$python" -V)" != "$("$venv/bin/python" -V)" ]; then
  rm -rf "$venv"
  place=
  # Debian ships venv in a package of its own.
  "$python" -m venv "$venv" > /dev/null 2>&1 || { apt_install python3-venv && "$python" -m venv "$venv"; }
fi
if ! cmp -s "$lock" "$venv/installed.lock"; then
  echo "installing $(grep -c '==' "$lock") packages of $lock into $venv"
  # The lock file lists every package, so nothing has to be resolved.
  run "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes -r "$lock"
  cp "$lock" "$venv/installed.lock"
fi
[ "$venv" = .venv-bench ] ||
  run "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
echo "$venv is ready after $(($(date +%s) - began)) s"
