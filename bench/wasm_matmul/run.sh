#!/bin/sh
# Rates of the wasm generator's matrix multiplication under node: bench/wasm_matmul/run.sh BUILD_FOLDER
set -e
build=${1:-build}
here=$(dirname "$0")
out=$(mktemp -d)
trap 'rm -r "$out"' EXIT
libraries=
for name in codegen_wasm codegen passes ir base; do
  [ -f "$build/libgossamer_$name.a" ] && libraries="$libraries $build/libgossamer_$name.a"
done
clang++-19 -std=c++23 -O2 -fno-exceptions -fno-rtti -fuse-ld=lld-19 -Isrc "$here/write_module.cc" $libraries -o "$out/write_module"
"$out/write_module" 4 0 "$out/4.wasm" 2000
"$out/write_module" 5 0 "$out/5.wasm"
"$out/write_module" 6 0 "$out/6.wasm"
"$out/write_module" 4 1 "$out/4r.wasm"
"$out/write_module" 6 1 "$out/6r.wasm" 2000
node --experimental-wasm-relaxed-simd "$here/measure.mjs" \
  "4x8 mul+add" 4 "$out/4.wasm" "5x8 mul+add" 5 "$out/5.wasm" "6x8 mul+add" 6 "$out/6.wasm" \
  "4x8 madd" 4 "$out/4r.wasm" "6x8 madd" 6 "$out/6r.wasm"
