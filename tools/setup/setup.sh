#!/bin/sh
# Installs what building and testing need, and says what. Run again, it only looks.
#
#   tools/setup/setup.sh            everything
#   tools/setup/setup.sh --native   without browsers and web packages
#   tools/setup/setup.sh --aarch64  the same, and what builds and tests for 64-bit Arm
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
. tools/setup/environment.sh

# docs/dependencies.md says what each is for.
packages="ca-certificates ccache clang-19 clang-format-19 clang-tidy-19 cmake g++ git
  libboost1.81-dev libc++-19-dev-wasm32 libc++abi-19-dev-wasm32 libclang-rt-19-dev libclang-rt-19-dev-wasm32
  libcli11-dev libegl-dev libgles-dev libgtest-dev libstb-dev libxxhash-dev lld-19 llvm-19-dev make ninja-build
  opencl-c-headers pkgconf rapidjson-dev wabt wasi-libc"
native=""
case "${1:-}" in --native | --aarch64) native=1 ;; esac
[ "${1:-}" = --aarch64 ] && packages="$packages g++-aarch64-linux-gnu googletest qemu-user"
[ -n "$native" ] || packages="$packages chromium firefox-esr libegl-mesa0 libgl1-mesa-dri
  mesa-vulkan-drivers ocl-icd-libopencl1 pocl-opencl-icd python3-dev python3-venv xvfb"

missing=""
for package in $packages; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing="$missing $package"
done
if [ -z "$native" ] && ! gs_node_fits; then
  # Debian's own Node.js is too old for the tests; it only fetches the newer one below.
  command -v npm >/dev/null || missing="$missing nodejs npm"
fi

if [ -n "$missing" ]; then
  echo "setup: installing$missing"
  sudo=""
  if [ "$(id -u)" != 0 ]; then
    sudo="sudo"
    command -v sudo >/dev/null || {
      echo "setup: not root and no sudo; as root run: apt-get install$missing" >&2
      exit 1
    }
  fi
  export DEBIAN_FRONTEND=noninteractive
  $sudo apt-get -q update
  # shellcheck disable=SC2086
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $missing
fi

tools/setup/nanopb.sh
[ -n "$native" ] && exit 0

# The tests of the native devices webgpu and wasm say that they were skipped where these are not to be had.
tools/setup/webgpu.sh || echo "setup: wgpu-native could not be installed" >&2
tools/setup/wasmtime.sh || echo "setup: wasmtime's library could not be installed" >&2

if ! gs_node_fits; then
  echo "setup: installing Node.js $gs_node_version and npm into third_party/cache/node"
  npm install --prefix third_party/cache/node --no-save --no-audit --no-fund \
    "node-linux-$(gs_machine)@$gs_node_version" "npm@$gs_npm_version"
  . tools/setup/environment.sh
fi

# npm ci replaces the whole folder, so it runs only when the lock file is another one.
for folder in web bench; do
  [ -f "$folder/package-lock.json" ] || continue
  [ "$folder" = bench ] && [ "${1:-}" != --bench ] && continue
  stamp=$folder/node_modules/.gossamer-lock
  if ! cmp -s "$folder/package-lock.json" "$stamp"; then
    echo "setup: installing npm packages of $folder/"
    scripts=""
    # onnxruntime-node's would fetch CUDA libraries.
    [ "$folder" = bench ] && scripts="--ignore-scripts"
    npm ci --prefix "$folder" --no-audit --no-fund $scripts
    cp "$folder/package-lock.json" "$stamp"
  fi
done

# Apache TVM, a peer; without it the benchmark says so.
if [ "${1:-}" = --bench ]; then
  stamp=third_party/cache/bench_python/.gossamer-requirements
  if ! cmp -s bench/requirements.txt "$stamp"; then
    echo "setup: installing Python packages of bench/"
    python3 -m venv third_party/cache/bench_python
    third_party/cache/bench_python/bin/pip install -q -r bench/requirements.txt && cp bench/requirements.txt "$stamp" ||
      echo "setup: Apache TVM could not be installed; it will not take part"
  fi
fi
