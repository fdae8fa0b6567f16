#!/bin/sh
# Puts WebAssembly engines without JavaScript into third_party/cache/wasm_engines (ignored by git): wasmtime from PyPI and, where a
# Go compiler is installed, wazero from the Go module proxy. Run again, it only looks. Only tests/libraries needs them, so that calls
# this; it prints the programs that are there.
set -eu
cd "$(dirname "$0")/../.."
folder=third_party/cache/wasm_engines
mkdir -p "$folder"
tools/setup/virtual_environment.sh tools/setup/wasm_engines_requirements.txt "$folder/python"
wasmtime=$(echo "$folder"/python/lib/python3*/site-packages/wasmtime_cli/wasmtime)
chmod +x "$wasmtime" # its wheel forgets to say so
echo "$wasmtime"
tools/setup/virtual_environment.sh tools/setup/wasi_threads_requirements.txt "$folder/threads"
wasmtime=$(echo "$folder"/threads/lib/python3*/site-packages/wasmtime_cli/wasmtime)
chmod +x "$wasmtime"
echo "$wasmtime"
wazero=github.com/tetratelabs/wazero/cmd/wazero@v1.9.0
if [ "$(cat "$folder/wazero.txt" 2>/dev/null)" != "$wazero" ] && command -v go >/dev/null; then
  echo "setup: installing $wazero into $folder" >&2
  if GOBIN="$PWD/$folder" GOFLAGS=-trimpath go install "$wazero" >&2; then
    echo "$wazero" > "$folder/wazero.txt"
  else
    echo "setup: this Go cannot build wazero" >&2
  fi
fi
[ ! -x "$folder/wazero" ] || echo "$folder/wazero"
