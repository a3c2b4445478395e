#!/bin/sh
# Installs the Debian packages that are missing: systemPackages.sh PACKAGE... Tests state what they skip without them.
missing=
for package; do
  dpkg -s "$package" > /dev/null 2>&1 || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get > /dev/null || [ "$(id -u)" != 0 ]; then
  echo "Not installed:$missing. Installing them requires root and apt-get."
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 -- The names are words.
apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing > /dev/null || echo "Not installed:$missing."
