#!/bin/sh
# diagnosis_servers.sh FOLDER: put the servers that diagnosis.py starts into FOLDER.
# Nothing is installed: packages of Debian are unpacked, and each of PyPI has an environment.
set -eu
mkdir -p "$1"
cd "$1"
for name in supervisor roundup jupyterhub octoprint; do
  [ -x "$name/bin/python" ] || python3 -m venv "$name"
  "$name/bin/pip" install --quiet "$name"
done
npm install --silent --no-audit --no-fund --prefix npm configurable-http-proxy
mkdir -p debian/packages
for name in webdis redis-server rspamd victoria-metrics dnsdist; do
  needed=$(apt-get -qq --simulate --no-install-recommends install "$name" |
    sed -nE "s/^Inst ($name|redis-tools|lib[^ ]*) .*/\1/p" | grep -v '^libc6')
  # shellcheck disable=SC2086 # a list of names
  (cd debian/packages && apt-get -qq download $needed)
  for package in debian/packages/*.deb; do
    dpkg-deb --extract "$package" debian
    rm "$package"
  done
done
