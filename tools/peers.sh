#!/bin/sh
# peers.sh FOLDER
# Put the servers that are neither Python nor installed by setup.sh into FOLDER, for tests only.
# What cannot be had is not an error here: the tests that need it say so by name.
set -eu
folder=$1
mkdir -p "$folder"

if command -v npm > /dev/null; then
  echo "installing requirements/peers into $folder"
  cp requirements/peers/package.json requirements/peers/package-lock.json "$folder"
  npm ci --prefix "$folder" --no-audit --no-fund --ignore-scripts --loglevel=error
fi

# Unpacked, not installed: the package would start a service that has a known password.
unpack() {
  (
    rm -rf "$folder/debian"
    mkdir "$folder/debian" && cd "$folder/debian" || exit 1
    needed=$(apt-get -qq --simulate --no-install-recommends install dbconfig-sqlite3 "$1" 2> /dev/null |
      sed -nE "s/^Inst ($1|lib[^ ]*) .*/\1/p" | grep -v '^libjs-')
    # shellcheck disable=SC2086 # a list of names
    [ -n "$needed" ] && apt-get -qq download $needed 2> /dev/null || exit 1
    for package in *.deb; do
      dpkg-deb --extract "$package" . && rm "$package" || exit 1
    done
  )
}

if ! command -v glewlwyd > /dev/null && [ ! -x "$folder/debian/usr/bin/glewlwyd" ]; then
  echo "unpacking glewlwyd from Debian into $folder"
  { command -v apt-get > /dev/null && command -v dpkg-deb > /dev/null && { unpack glewlwyd ||
    { [ "$(id -u)" = 0 ] && apt-get update -qq > /dev/null 2>&1 && unpack glewlwyd; }; }; } ||
    echo "missing program: glewlwyd (Debian package glewlwyd)"
fi
