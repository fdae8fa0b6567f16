#!/bin/sh
# Puts nanopb's C sources into third_party/cache (ignored by git). Debian packages them only inside its
# source package, so it is taken from the machine's own Debian mirror through a private list.
set -eu
version=0.4.7
revision=2
sha256=e1d89b166367a3c42d42311bdc2ed57ff78f86aede9a66828516e45490d48c81
cache=$(cd "$(dirname "$0")/../.." && pwd)/third_party/cache
[ -f "$cache/nanopb-$version/pb_decode.c" ] && exit 0

work=$cache/nanopb.part.$$
mkdir -p "$work/lists/partial" "$work/archives/partial"
trap 'rm -rf "$work"' EXIT
chmod -R a+rX "$work"
cd "$work"
echo "nanopb $version: fetching Debian's source package" >&2

keys=/usr/share/keyrings/debian-archive-keyring.gpg
apt-get indextargets --format '$(IDENTIFIER)|$(ORIGIN)|$(REPO_URI) $(RELEASE) $(COMPONENT)' |
  sed -n 's/^Packages|Debian|\([^ ]* [a-z]* main\)$/\1/p' | sort -u |
  sed "s|^|deb-src [signed-by=$keys] |" >sources.list
if [ ! -s sources.list ]; then
  echo "nanopb: apt has no Debian index yet; run apt-get update first" >&2
  exit 1
fi
apt="apt-get -q -o Dir::Etc::sourcelist=$work/sources.list -o Dir::Etc::sourceparts=-
  -o Dir::State::lists=$work/lists -o Dir::Cache=$work -o APT::Sandbox::User=root"
$apt update >log 2>&1 || { cat log >&2; exit 1; }
$apt source --download-only "nanopb=$version-$revision" >log 2>&1 || { cat log >&2; exit 1; }

echo "$sha256  nanopb_$version.orig.tar.gz" | sha256sum -c --quiet
tar xzf "nanopb_$version.orig.tar.gz"
# Renamed in one step: an interrupted run leaves nothing that looks whole.
rm -rf "$cache/nanopb-$version"
mv "nanopb-$version" "$cache/nanopb-$version"
