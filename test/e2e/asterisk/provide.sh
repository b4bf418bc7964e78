#!/usr/bin/env bash
# Puts Asterisk and SIPp, Kamailio or Prometheus from Debian's packages into a folder of their own, to
# be run from there.
#
#   provide.sh TARGET PROGRAM   PROGRAM: asterisk-22 or asterisk-16 (with SIPp), kamailio-5,
#                               prometheus-2 (with promtool)
#
# TARGET/bin/<program> starts the unpacked program with the unpacked loader and libraries; modules are
# in TARGET/modules. Nothing is installed on this machine, and neither root nor a container is needed.
# TARGET appears whole or not at all. When it is there already, the script returns at once.
#
# CALLGATE_E2E_MIRROR   Debian mirror; by default the one that apt uses on this machine
set -euo pipefail

fail() {
  printf 'provide.sh: %s\n' "$*" >&2
  exit 1
}

[ $# -eq 2 ] || fail 'usage: provide.sh TARGET PROGRAM'
target=$1
# A suite at the end of its life moves from the mirrors to the archive.
case $2 in
  # sid moves on; the next release follows it and may have the wanted version for longer.
  asterisk-22) name=Asterisk places=('MIRROR sid' 'MIRROR forky') ;;
  asterisk-16)
    name=Asterisk
    places=('MIRROR bullseye' 'http://archive.debian.org/debian bullseye')
    ;;
  kamailio-5)
    name=Kamailio
    places=('MIRROR bookworm' 'http://archive.debian.org/debian bookworm')
    ;;
  prometheus-2)
    name=Prometheus
    places=('MIRROR bookworm' 'http://archive.debian.org/debian bookworm')
    ;;
  *) fail "program '$2': must be asterisk-22, asterisk-16, kamailio-5 or prometheus-2" ;;
esac
wanted=${2##*-}
case $name in
  Asterisk) programs=(asterisk sipp) packages=(asterisk asterisk-modules sip-tester) ;;
  Kamailio) programs=(kamailio) packages=(kamailio kamailio-utils-modules kamailio-extra-modules kamailio-secsipid-modules) ;;
  Prometheus) programs=(prometheus promtool) packages=(prometheus) ;;
esac
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

is_whole() {
  for program in "${programs[@]}"; do [ -x "$target/bin/$program" ] || return 1; done
}
is_whole && exit 0
[ ! -e "$target" ] || fail "$target exists and holds no ${programs[*]}; remove it"

for tool in apt-get dpkg dpkg-deb tar flock timeout; do
  command -v "$tool" > /dev/null || fail "$tool is missing; this needs Debian or a derivative of it"
done
[ -r "$keyring" ] || fail "$keyring is missing; install the package debian-archive-keyring"

mkdir -p "$(dirname "$target")"
target=$(cd "$(dirname "$target")" && pwd -P)/$(basename "$target")
exec 9> "$target.lock"
flock --timeout 900 9 || fail "another run has been building $target for 15 minutes"
is_whole && exit 0

# The end of the build is its renaming, so what a killed one has left never counts as whole.
build=$target.building
rm -rf "$build"
trap 'rm -rf "$build"' EXIT
root=$build/root
mkdir -p "$root"

mirror_of_this_machine() {
  apt-get indextargets --format '$(REPO_URI)' 2> /dev/null |
    grep --max-count=1 -E '^https?://.*/debian/?$' || echo http://deb.debian.org/debian
}
mirror=${CALLGATE_E2E_MIRROR:-$(mirror_of_this_machine)}
mirror=${mirror%/}

# apt with sources, state and cache of its own, as if nothing were installed. The host's proxy
# settings stay in force, and so does the check of signatures. Retries and waits are bounded.
apt=$build/apt
ours=(
  -o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
  -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null
  -o "Dir::State=$apt" -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt" -o "Dir::Log=$apt"
  -o APT::Sandbox::User=root -o APT::Install-Recommends=false -o APT::Update::Error-Mode=any
  -o Acquire::Languages=none -o Acquire::Retries=3 -o Acquire::http::Timeout=30
  -o Acquire::https::Timeout=30 -o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false
)
# A suite that gets no more updates has a Release file past its date, signed all the same.
[ "$2" = asterisk-22 ] || ours+=(-o Acquire::Check-Valid-Until=false)

# Points apt at a mirror and a suite, and says which version of the program is there.
version_at() {
  rm -rf "$apt"
  mkdir -p "$apt/lists/partial" "$apt/archives/partial"
  : > "$apt/status"
  echo "deb [signed-by=$keyring] $1 $2 main" > "$apt/sources.list"
  timeout 300 apt-get "${ours[@]}" -qq update >&2 || return 1
  { apt-cache "${ours[@]}" show --no-all-versions "${packages[0]}" 2> /dev/null || true; } |
    sed -n 's/^Version: \([0-9]*:\)\{0,1\}//p'
}

download() {
  timeout 600 apt-get "${ours[@]}" -qq --yes --download-only install "${packages[@]}" >&2
}

found='' tried=''
for place in "${places[@]}"; do
  read -r from suite <<< "${place/MIRROR/$mirror}"
  if ! version=$(version_at "$from" "$suite"); then
    tried+=$'\n'"  $from $suite: its index cannot be read"
  elif [ "${version%%.*}" != "$wanted" ]; then
    tried+=$'\n'"  $from $suite: has ${version:-no $name}"
  elif ! download; then
    tried+=$'\n'"  $from $suite: has $version, which cannot be fetched"
  else
    found="$from $suite" && break
  fi
done
[ -n "$found" ] ||
  fail "no $name $wanted; CALLGATE_E2E_MIRROR may name another Debian mirror. Tried:$tried"

# Older packages use /lib and /bin beside /usr; one tree serves both.
for folder in bin sbin lib lib64; do
  mkdir -p "$root/usr/$folder"
  ln -s "usr/$folder" "$root/$folder"
done
for package in "$apt"/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$package" |
    tar --extract --directory="$root" --keep-directory-symlink --no-same-owner \
      --exclude=./usr/share/doc --exclude=./usr/share/man --exclude=./usr/share/locale
done

# This link is made when the package of sounds is configured, which nobody does here.
[ "$name" != Asterisk ] || ln -sfn en_US_f_Allison "$root/usr/share/asterisk/sounds/en"

# The starters find the tree by their own place, so it may be moved.
find_in_tree() { (cd "$root" && find usr/lib "$@" -print -quit); }
find_in_programs() { (cd "$root" && find usr/sbin usr/bin -name "$1" -print -quit); }
loader=$(find_in_tree -type f '(' -name 'ld-linux*.so.*' -o -name 'ld-[0-9]*.so' ')')
libraries=$(dirname "$(find_in_tree -name libc.so.6)")
modules=$(find_in_tree -type d -path "*/${programs[0]}/modules")
[ "$name" != Prometheus ] || modules=$libraries
[ -n "$loader" ] && [ -n "$modules" ] || fail "the packages of $found hold no loader or no modules"
starter() {
  cat > "$build/$1" << STARTER
#!/bin/sh
root=\$(cd "\$(dirname "\$0")/../root" && pwd -P)
exec env OPENSSL_CONF=/dev/null TERMINFO="\$root/usr/share/terminfo" "\$root/$loader" \\
  --library-path "\$root/$libraries:\$root/usr/lib:\$root/$(dirname "$modules")" "\$root/$2" "\$@"
STARTER
  chmod 755 "$build/$1"
}
mkdir "$build/bin"
for program in "${programs[@]}"; do
  starter "bin/$program" "$(find_in_programs "$program")"
done
ln -s "root/$modules" "$build/modules"

says() {
  local said
  said=$("$build/bin/$1" "$2" || true)
  case $said in
    *"$3"*) ;;
    *) fail "expected $3, the unpacked $1 of $found says '$said'" ;;
  esac
}
case $name in
  Asterisk) says asterisk -V "Asterisk $wanted." && says sipp -v 'SIPp v' ;;
  Kamailio) says kamailio -v "kamailio $wanted." ;;
  Prometheus) says prometheus --version "version $wanted." && says promtool --version "version $wanted." ;;
esac

rm -rf "$apt"
mv --no-target-directory "$build" "$target"
printf '%s %s from %s in %s\n' "$name" "$version" "$found" "$target"
