#!/bin/sh
# What cron runs each night: a card for an agent, waited for, kept and archived. It reads nothing but ids and exit codes, and
# prints the cards that it archived. Its environment: PATH, BOARD_URL, BOARD_TOKEN_FILE, BOARD_PROJECT, EXPORTS, PATIENCE_SECS.
set -u

# A server that is away or busy (7) is asked again for a while.
tried=0
while board status -q; code=$?; [ "$code" -ne 0 ]; do
  tried=$((tried + 1))
  [ "$code" -eq 7 ] && [ "$tried" -lt 3 ] || exit "$code"
  sleep 1
done

# The same title in the same column is the same card, so a second run of the same night adds none.
card=$(board cards add 'Nightly audit' --prompt 'Look for what is out of date.' --column Backlog --unless-exists -q) || exit
board cards move "$card" --to 'In Progress' --top -q >/dev/null || exit
board cards run "$card" -q >/dev/null || exit

board cards wait "$card" --exit-status --timeout "$PATIENCE_SECS" -q >/dev/null
case $? in
  0) ;;
  8) board cards cancel "$card" -q >/dev/null; exit 8 ;; # It took too long.
  *) exit 1 ;;                                           # It failed, and stays where it is for somebody to look at.
esac
board cards move "$card" --to Done -q >/dev/null || exit

# What is archived is in the export of the same night.
board projects export -o "$EXPORTS/$(date +%F).board.json" -q >/dev/null || exit
board cards list --column Done --all -q | board cards archive - -q
