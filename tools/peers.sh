#!/bin/sh
# peers.sh FOLDER PYTHON
# Put the servers and libraries that setup.sh does not install into FOLDER, for tests only.
# What cannot be had is not an error here: the tests that need it say so by name.
set -eu
. tools/interruptible.sh
folder=$1 python=$2
began=$(date +%s)
mkdir -p "$folder"

if command -v npm > /dev/null; then
  count=$(grep -c '^    "node_modules/' requirements/peers/package-lock.json)
  echo "installing $count packages of requirements/peers into $folder"
  cp requirements/peers/package.json requirements/peers/package-lock.json "$folder"
  run npm ci --prefix "$folder" --no-audit --no-fund --ignore-scripts --loglevel=error
  # The only one that runs a script: Directus needs it compiled.
  run npm rebuild --prefix "$folder" --loglevel=error sqlite3 ||
    echo "missing library: sqlite3 of npm, compiled (for Directus)"
fi

# install_apart NAME: the packages of requirements/NAME.lock in an environment of their own, since
# outkey's tests must not meet what they need. Most modules are never loaded, so none is compiled.
install_apart() {
  place="$folder/$1" lock="requirements/$1.lock"
  cmp -s "$lock" "$place/lock" && return
  echo "installing $(grep -c '==' "$lock") packages of $lock into $place"
  {
    "$python" -m venv --clear --without-pip "$place" &&
      run "$python" -m pip --python "$place/bin/python" install --quiet --disable-pip-version-check \
        --no-compile --no-deps --require-hashes -r "$lock" &&
      cp "$lock" "$place/lock"
  } || {
    rm -rf "$place"
    echo "missing libraries: those of $lock"
  }
}
install_apart judges # libraries that sign webhooks, a hundred megabytes
install_apart moto # another botocore than the one that the tests sign beside
install_apart identities # another PyJWT than the one that judges assertions
install_apart stores # clients of cloud stores, with gRPC
install_apart trac # needs an old setuptools
install_apart schemathesis # brings a plugin that pytest would load everywhere

# Unpacked, not installed: the packages would start services, one of them with a known password.
unpack() {
  (
    mkdir -p "$folder/debian" && cd "$folder/debian" && rm -f ./*.deb || exit 1
    needed=$(apt-get -qq --simulate --no-install-recommends install dbconfig-sqlite3 "$1" 2> /dev/null |
      sed -nE "s/^Inst ($1(-common|-langpack)?|lib[^ ]*) .*/\1/p" | grep -v '^libjs-')
    # shellcheck disable=SC2086 # a list of names
    [ -n "$needed" ] && apt-get -qq download $needed 2> /dev/null || exit 1
    for package in *.deb; do
      dpkg-deb --extract "$package" . && rm "$package" || exit 1
    done
  )
}

set -- glewlwyd docker-registry squid tinyproxy=tinyproxy-bin apache2=apache2-bin lighttpd prometheus caddy qbittorrent-nox
number=0
for peer in "$@"; do
  number=$((number + 1))
  program=${peer%=*} package=${peer#*=}
  command -v "$program" > /dev/null && continue
  [ -x "$folder/debian/usr/bin/$program" ] || [ -x "$folder/debian/usr/sbin/$program" ] && continue
  echo "unpacking $program, server $number of $#, from Debian into $folder"
  { command -v apt-get > /dev/null && command -v dpkg-deb > /dev/null && { unpack "$package" ||
    { [ "$(id -u)" = 0 ] && apt-get update -qq > /dev/null 2>&1 && unpack "$package"; }; }; } ||
    echo "missing program: $program (Debian package $package)"
done
echo "$folder is ready after $(($(date +%s) - began)) s"
