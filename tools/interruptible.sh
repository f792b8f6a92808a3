# To be read by scripts: `run COMMAND...` runs a command that ends when the script is ended.
# A shell waits for a command in the foreground before it heeds SIGTERM, or ends without it.
run() {
  "$@" &
  child=$!
  trap 'kill "$child" 2> /dev/null; exit 143' TERM
  trap 'kill "$child" 2> /dev/null; exit 130' INT
  status=0
  wait "$child" || status=$?
  trap - TERM INT
  return "$status"
}
