#!/bin/sh
# Puts Deno and Bun into third_party/cache/runtimes. Only tests/runtimes needs them, so that calls this.
exec "$(dirname "$0")/npm_packages.sh" runtimes deno@2.5.4 bun@1.3.0
