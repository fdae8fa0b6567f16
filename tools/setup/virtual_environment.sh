#!/bin/sh
# virtual_environment.sh REQUIREMENTS FOLDER [OPTION OF PIP...]: Python packages, pinned, in an environment of their own below third_party/cache (ignored
# by git). Run again, it only looks.
set -eu
requirements=$1
folder=$2
shift 2
# With the files that it includes.
pinned() {
  cat "$requirements"
  sed -n 's/^-r //p' "$requirements" | while read -r included; do cat "$(dirname "$requirements")/$included"; done
}
pinned | cmp -s - "$folder/installed.txt" && exit 0

echo "setup: installing the packages of $requirements into $folder" >&2
rm -rf "$folder"
python3 -m venv "$folder" || {
  echo "setup: python3 makes no virtual environment; on Debian: apt-get install python3-venv" >&2
  exit 1
}
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --only-binary :all: "$@" \
  --requirement "$requirements" >&2
# Last: an interrupted run leaves nothing that looks whole.
pinned >"$folder/installed.txt"
