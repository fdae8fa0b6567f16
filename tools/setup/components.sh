#!/bin/sh
# Puts jco, which makes components and serves them in Node.js, into third_party/cache/components (ignored by git; 340 MB), from the npm
# registry. Run again, it only looks. Only tests/component needs it, so that calls this.
set -eu
cd "$(dirname "$0")/../.."
. tools/setup/environment.sh
packages="@bytecodealliance/jco@1.35.0"
folder=third_party/cache/components
[ "$(cat "$folder/installed.txt" 2>/dev/null)" = "$packages" ] && exit 0

echo "setup: installing $packages into $folder" >&2
rm -rf "$folder"
mkdir -p "$folder"
# shellcheck disable=SC2086
npm install --prefix "$folder" --no-save --no-audit --no-fund $packages >&2
# Last: an interrupted run leaves nothing that looks whole.
echo "$packages" > "$folder/installed.txt"
