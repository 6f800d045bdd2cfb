#!/usr/bin/env bash
# Finds the upshift binary for the action: the given one ($UPSHIFT_BIN), else the released one for this platform whose
# SHA-256 stands in checksums.txt beside this file, else one built from the action's own source.
# Writes the outputs `binary` and `artifact` (a name that no other step of this workflow run has).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$(dirname "$here")
tools="${RUNNER_TEMP:-${TMPDIR:-/tmp}}/upshift-install"
# Git's shell on Windows takes no backslash for a separator everywhere, and `C:` for a host in some places.
if command -v cygpath >/dev/null; then tools=$(cygpath -u "$tools"); fi
case "${RUNNER_OS:-$(uname -s)}" in
  Windows | MINGW* | MSYS*) program=upshift.exe ;;
  *) program=upshift ;;
esac

fail() {
  printf '::error title=upshift could not be installed::%s\n' "$1"
  exit 1
}

# Nothing that is installed here may hang for the hours that a job may last.
limited() {
  if command -v timeout >/dev/null; then timeout --kill-after=10 "$@"; else shift && "$@"; fi
}

target() {
  case "${RUNNER_OS:-$(uname -s)}/${RUNNER_ARCH:-$(uname -m)}" in
    Linux/X64 | Linux/x86_64) echo x86_64-unknown-linux-musl ;;
    Linux/ARM64 | Linux/aarch64) echo aarch64-unknown-linux-musl ;;
    macOS/X64 | Darwin/x86_64) echo x86_64-apple-darwin ;;
    macOS/ARM64 | Darwin/arm64) echo aarch64-apple-darwin ;;
    # Windows on ARM runs programs for x64.
    Windows/X64 | Windows/ARM64 | MINGW*/x86_64 | MSYS*/x86_64) echo x86_64-pc-windows-msvc ;;
    *) fail "upshift does not run on ${RUNNER_OS:-$(uname -s)} (${RUNNER_ARCH:-$(uname -m)}). Use a Linux, macOS or Windows runner." ;;
  esac
}

sha256() {
  if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

# A file that cannot be had leads to a build; one that is not what it should be ends the step.
download() {
  local archive="upshift-$1.tar.gz" base expected got
  base=$(sed -n 's/^base //p' "$here/checksums.txt")
  expected=$(awk -v name="$archive" '$2 == name { print $1 }' "$here/checksums.txt")
  if [ -z "$base" ] || [ -z "$expected" ]; then return 1; fi
  echo "Downloading $archive"
  curl --fail --silent --show-error --location --proto '=https' --retry 3 --connect-timeout 15 --max-time 180 \
    --output "$tools/$archive" "$base/$archive" || return 1
  got=$(sha256 "$tools/$archive")
  [ "$got" = "$expected" ] ||
    fail "$archive has the SHA-256 $got, but this version of the action expects $expected. Do not use it; report it to the action's repository."
  tar -xzf "$tools/$archive" -C "$tools" "$program"
}

build() {
  command -v cargo >/dev/null ||
    fail "There is no released binary for this platform that could be downloaded, and no Rust toolchain to build one. Install Rust before this step, or set UPSHIFT_BIN to an upshift binary."
  echo "Building upshift from $source"
  CARGO_TARGET_DIR="$tools/build" limited 2400 cargo build --release --locked --manifest-path "$source/Cargo.toml" ||
    fail "upshift could not be built from its source. The lines above say why."
  cp "$tools/build/release/$program" "$tools/$program"
}

mkdir -p "$tools"
if [ -n "${UPSHIFT_BIN:-}" ]; then
  binary=$UPSHIFT_BIN
  [ -x "$binary" ] || fail "UPSHIFT_BIN names no program that can be run: $binary"
else
  binary="$tools/$program"
  platform=$(target) || { printf '%s\n' "$platform"; exit 1; }
  download "$platform" || build
fi
"$binary" --version
case "$binary" in *$'\n'* | *$'\r'*) fail "UPSHIFT_BIN is not a path." ;; esac
unique=$(od -An -N4 -tx4 /dev/urandom | tr -d ' ')
{
  printf 'binary=%s\n' "$binary"
  printf 'artifact=upshift-audit-%s-%s-%s\n' "${GITHUB_RUN_ID:-0}" "${GITHUB_RUN_ATTEMPT:-1}" "$unique"
} >>"$GITHUB_OUTPUT"
