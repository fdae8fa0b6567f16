# Sourced, from the root: puts the project's own Node.js first where the machine's is too old, and names its libraries of webgpu.h
# and of wasmtime.
gs_node_version=24
gs_npm_version=11

gs_machine() {
  case $(uname -m) in
    x86_64) echo x64 ;;
    aarch64) echo arm64 ;;
    *) uname -m ;;
  esac
}

gs_node_fits() {
  command -v npm >/dev/null && command -v node >/dev/null &&
    node -e 'const [a, b] = process.versions.node.split(".").map(Number);
             process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)'
}

gs_own=$PWD/third_party/cache/node/node_modules
if [ -x "$gs_own/node-linux-$(gs_machine)/bin/node" ] && ! gs_node_fits; then
  PATH=$gs_own/node-linux-$(gs_machine)/bin:$gs_own/.bin:$PATH
  export PATH
fi

for gs_file in "$PWD"/third_party/cache/webgpu/lib/python3*/site-packages/wgpu/resources/libwgpu_native-release.so; do
  if [ -z "${GOSSAMER_WEBGPU_LIBRARY:-}" ] && [ -f "$gs_file" ]; then export GOSSAMER_WEBGPU_LIBRARY="$gs_file"; fi
done
for gs_file in "$PWD"/third_party/cache/wasmtime/lib/python3*/site-packages/wasmtime/linux-*/_libwasmtime.so; do
  if [ -z "${GOSSAMER_WASMTIME_LIBRARY:-}" ] && [ -f "$gs_file" ]; then export GOSSAMER_WASMTIME_LIBRARY="$gs_file"; fi
done
