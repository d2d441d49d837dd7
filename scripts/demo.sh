#!/bin/sh
# Ingests the sample video and asks it three things: what only the text in view answers, where the phone is,
# and something that is not there.
set -eu
amr=$1
memory=$2
rm -rf "$memory"

run() {
    echo
    echo "\$ amr $*"
    code=0
    "$amr" "$@" --memory "$memory" || code=$?
    [ "$code" -le 1 ] || exit "$code"
}

run ingest data/sample.mp4
run ask "when is the dentist?"
run ask "where is my phone?"
run ask "where did I put the trombone?"
