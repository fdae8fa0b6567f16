#!/bin/sh
# Puts Deno and Bun into third_party/cache/runtimes (ignored by git), from the npm registry. Run again, it only looks. Only
# tests/runtimes needs them, so that calls this.
set -eu
cd "$(dirname "$0")/../.."
. tools/setup/environment.sh
packages="deno@2.5.4 bun@1.3.0"
folder=third_party/cache/runtimes
[ "$(cat "$folder/installed.txt" 2>/dev/null)" = "$packages" ] && exit 0

echo "setup: installing $packages into $folder" >&2
rm -rf "$folder"
mkdir -p "$folder"
# shellcheck disable=SC2086
npm install --prefix "$folder" --no-save --no-audit --no-fund $packages >&2
# Last: an interrupted run leaves nothing that looks whole.
echo "$packages" > "$folder/installed.txt"
