#!/bin/sh
# run.sh OUTKEY PORT: serve the pages with samples, in a temporary home, until SIGTERM or Ctrl-C.
# A shell runs a trap only after the command in front of it has ended, so the server is started in
# the background; such a command ignores Ctrl-C, so every signal reaches it as SIGTERM.
set -u
server= stopping=
stop() {
  stopping=1
  [ -z "$server" ] || kill "$server" 2> /dev/null
}
trap stop INT TERM HUP QUIT
home=$(mktemp -d) || exit 1
trap 'rm -rf "$home"' EXIT
OUTKEY_HOME="$home" "$1" serve --demo --port "$2" &
server=$!
[ -z "$stopping" ] || kill "$server"
wait "$server"
status=$?
# A signal ends `wait` before the server has ended.
while kill -0 "$server" 2> /dev/null; do
  wait "$server"
done
# Stopping the server is not an error.
[ -z "$stopping" ] || status=0
# 2: the call, such as a port that is in use.
[ "$status" != 2 ] || echo "hint: for another port: make run PORT=$(($2 + 1))" >&2
exit $status
