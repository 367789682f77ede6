#!/bin/sh
# Make ./configure from configure.ac (needs autoconf, automake, pkg-config).
set -eu
cd "$(dirname "$0")"
exec autoreconf --force --install --warnings=all,no-obsolete
