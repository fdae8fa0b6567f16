#!/bin/bash
# Compiles and leaves beside a precompiled header a checksum of all it was made of. ccache takes that for
# the header itself (CCACHE_PCH_EXTSUM), which names the folder it lies in: so build folders share what one of them compiled.
set -euo pipefail
"$@"
previous= output= made_of=
for word in "$@"; do
  case $previous in
    -o) output=$word ;;
    -MF) made_of=$word ;;
  esac
  previous=$word
done
if [[ $output == *.pch ]]; then
  # Escaped spaces and line ends as in a makefile, so no -r; the first word is the target.
  read -a files <"$made_of"
  cat "${files[@]:1}" | sha256sum >"$output.sum"
fi
