#!/bin/sh
# Installs a wheel into a clean environment and uses it from another folder, as a person would.
set -eu
wheel=$(realpath "$1")
sample=$(realpath data/sample.mp4)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "$wheel[cpu]"
cd "$folder"
venv/bin/amr ingest "$sample" --memory memory
venv/bin/amr ask "where is my phone?" --memory memory
echo "the wheel works"
