#!/bin/sh
# Builds an earlier commit, so that `make bench` can have it as a party: bench/before.sh [COMMIT]
# Prints the folder for `--before`: third_party/cache/before/COMMIT, with its gossamer, libraries and run time.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
commit=$(git -C "$root" rev-parse --short=7 "${1:-6d51169}")
folder=$root/third_party/cache/before/$commit
if [ ! -f "$folder/.built" ]; then
  mkdir -p "$folder/third_party/cache" "$folder/web"
  git -C "$root" archive "$commit" | tar x -C "$folder"
  cp -r "$root"/third_party/cache/nanopb-* "$folder/third_party/cache/"
  [ -e "$folder/web/node_modules" ] || cp -r "$root/web/node_modules" "$folder/web/"
  export CCACHE_BASEDIR="$folder" CCACHE_NOHASHDIR=1
  cmake -G Ninja -S "$folder" -B "$folder/build" >/dev/null
  # The libraries are what bench/cpu/serve.cc is linked against.
  ninja -C "$folder/build" gossamer gossamer_runtime gossamer_package gossamer_ir gossamer_base >&2
  # The page of bench-pack compiles there.
  cmake -G Ninja -S "$folder" -B "$folder/build-wasm" --toolchain "$folder/cmake/wasm32-wasi.cmake" -DCMAKE_BUILD_TYPE=MinSizeRel >/dev/null
  ninja -C "$folder/build-wasm" >&2
  npm run --silent --prefix "$folder/web" build --workspace runtime --workspace compiler >&2
  touch "$folder/.built"
fi
echo "$folder"
