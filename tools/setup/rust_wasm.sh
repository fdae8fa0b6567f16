#!/bin/sh
# Puts Debian's Rust for wasm32-wasi into third_party/cache/rust_wasm (ignored by git), beside whatever Rust the machine has. Run again, it
# only looks. Only tests/libraries needs it, so that calls this; it prints the folder, which has bin/rustc.
set -eu
cd "$(dirname "$0")/../.."
folder=third_party/cache/rust_wasm
# Its linker reads Rust's archives, which later ones refuse.
packages="rustc libstd-rust-1.63 libstd-rust-dev-wasm32 lld-14 libllvm14"
if [ "$(cat "$folder/packages" 2>/dev/null)" != "$packages" ]; then
  echo "setup: unpacking $packages into $folder" >&2
  rm -rf "$folder"
  mkdir -p "$folder/archives"
  # shellcheck disable=SC2086
  (cd "$folder/archives" && apt-get -q download $packages >&2)
  for archive in "$folder"/archives/*.deb; do
    dpkg -x "$archive" "$folder"
  done
  rm -r "$folder/archives" "$folder/usr/lib/rustlib/wasm32-unknown-unknown" "$folder/usr/share"
  echo "$packages" > "$folder/packages"
fi
echo "$folder/usr"
