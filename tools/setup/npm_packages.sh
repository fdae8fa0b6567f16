#!/bin/sh
# Puts packages from the npm registry into a folder of third_party/cache (ignored by git). Run again, it only looks.
#
#   npm_packages.sh FOLDER PACKAGE@VERSION...
set -eu
cd "$(dirname "$0")/../.."
. tools/setup/environment.sh
folder=third_party/cache/$1
shift
[ "$(cat "$folder/installed.txt" 2>/dev/null)" = "$*" ] && exit 0

echo "setup: installing $* into $folder" >&2
rm -rf "$folder"
mkdir -p "$folder"
npm install --prefix "$folder" --no-save --no-audit --no-fund "$@" >&2
# Last: an interrupted run leaves nothing that looks whole.
echo "$*" > "$folder/installed.txt"
