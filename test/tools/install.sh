#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh PACKAGE...: installs those Debian packages that are missing, with apt-get. A package
# written with a ? in front may stay missing; so may one that cannot be installed where its program or header is
# there from elsewhere (a module of a cluster, pip).
missing='' wanted=''
for package in "$@"; do
  name=${package#\?}
  dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'install ok installed' && continue
  missing="$missing $name"
  [ "$package" = "$name" ] && wanted="$wanted $name"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null; then
  echo "install.sh: no apt-get here; see to it that these are there:$missing" >&2
  exit 0
fi
includes() { echo "#include <$1>" | g++ -E -x c++ - >/dev/null 2>&1; }
is_there() {
  case $1 in
    ninja-build) command -v ninja >/dev/null ;;
    pkgconf) command -v pkg-config >/dev/null ;;
    doctest-dev) includes doctest/doctest.h ;;
    zlib1g-dev) includes zlib.h ;;
    *) command -v "$1" >/dev/null ;;
  esac
}
[ "$(id -u)" = 0 ] && root='' || root='sudo'
export DEBIAN_FRONTEND=noninteractive
echo "installing:$missing"
apt="$root apt-get -qq -o DPkg::Lock::Timeout=300"
$apt update >/dev/null || echo 'install.sh: apt-get update failed; going on with what is known' >&2
$apt install -y --no-install-recommends $missing >/dev/null 2>&1 && exit 0
for package in $missing; do  # one of them may not exist here
  $apt install -y --no-install-recommends "$package" >/dev/null 2>&1 && continue
  is_there "$package" && continue
  case " $wanted " in *" $package "*) echo "install.sh: $package could not be installed" >&2; exit 1 ;; esac
  echo "install.sh: going on without $package"
done
