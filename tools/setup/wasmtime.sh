#!/bin/sh
# wasmtime's library, a WebAssembly engine without JavaScript, into third_party/cache/wasmtime (ignored by git), where environment.sh finds it:
# for the tests of the native device wasm. Run again, it only looks.
set -eu
cd "$(dirname "$0")/../.."
exec tools/setup/virtual_environment.sh tools/setup/wasmtime_requirements.txt third_party/cache/wasmtime --no-deps
