#!/usr/bin/env bash
# Finds the upshift binary for the action and writes the outputs `binary`, `sha256` and `artifact` (a name that no other step of
# this workflow run has). The binary is, in this order: the one of the inputs `binary` and `sha256`, which an earlier step of this job
# has put out; the released one for this platform, whose SHA-256 stands in checksums.txt beside this file; one built from the action's
# own source.
#
# Nothing of the repository that is to be fixed counts here: the environment is an allowlist without any secret, the source is built in
# a fresh folder that no setting of cargo stands above, and a binary is run only by its digest.
set -euo pipefail

# What may reach the tools that are called here. A key or a token is none of it, whatever the job's `env:` holds.
ALLOWED=(
  PATH HOME TMPDIR RUSTUP_HOME RUNNER_TEMP RUNNER_OS RUNNER_ARCH GITHUB_OUTPUT GITHUB_RUN_ID GITHUB_RUN_ATTEMPT
  HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy
  SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE
  SYSTEMROOT SystemRoot WINDIR COMSPEC ProgramFiles ProgramData USERPROFILE APPDATA LOCALAPPDATA TEMP TMP MSYSTEM
  UPSHIFT_GIVEN_BINARY UPSHIFT_GIVEN_SHA256
)
if [ "${1:-}" != clean ]; then
  kept=()
  for name in "${ALLOWED[@]}"; do
    if [ -n "${!name:-}" ]; then kept+=("$name=${!name}"); fi
  done
  exec /usr/bin/env -i "${kept[@]}" /bin/bash --noprofile --norc -p "${BASH_SOURCE[0]}" clean
fi

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$(dirname "$here")
temporary="${RUNNER_TEMP:-${TMPDIR:-/tmp}}"
# Git's shell on Windows takes no backslash for a separator everywhere, and `C:` for a host in some places.
if command -v cygpath >/dev/null; then temporary=$(cygpath -u "$temporary"); fi
# A folder of this step's own: what an earlier step put out may be in another one.
tools=$(umask 077 && mktemp -d "$temporary/upshift-install-XXXXXXXXXX")
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

# The binary that an earlier step found. A copy is looked at and run, so that nobody can change it in between.
given() {
  [[ ${UPSHIFT_GIVEN_SHA256:-} =~ ^[0-9a-f]{64}$ ]] ||
    fail "The input \`binary\` needs the input \`sha256\`, 64 hexadecimal digits, beside it: take both from the outputs of the step with \`command: gate\`."
  [ -f "$UPSHIFT_GIVEN_BINARY" ] ||
    fail "The input \`binary\` names no file: $UPSHIFT_GIVEN_BINARY. Take it from the outputs of the step with \`command: gate\` in the same job."
  cp "$UPSHIFT_GIVEN_BINARY" "$tools/$program"
  local got
  got=$(sha256 "$tools/$program")
  if [ "$got" != "$UPSHIFT_GIVEN_SHA256" ]; then
    rm -f "$tools/$program"
    fail "The binary $UPSHIFT_GIVEN_BINARY has the SHA-256 $got, but the step with \`command: gate\` found $UPSHIFT_GIVEN_SHA256. A step in between has changed it: it is not run."
  fi
}

# A file that cannot be had leads to a build; one that is not what it should be ends the step.
download() {
  local archive="upshift-$1.tar.gz" base expected got
  base=$(sed -n 's/^base //p' "$here/checksums.txt")
  expected=$(awk -v name="$archive" '$2 == name { print $1 }' "$here/checksums.txt")
  if [ -z "$base" ] || [ -z "$expected" ]; then return 1; fi
  echo "Downloading $archive"
  fetch "$base/$archive" "$tools/$archive" || return 1
  got=$(sha256 "$tools/$archive")
  [ "$got" = "$expected" ] ||
    fail "$archive has the SHA-256 $got, but this version of the action expects $expected. Do not use it; report it to the action's repository."
  attested "$base" "$tools/$archive"
  tar -xzf "$tools/$archive" -C "$tools" "$program"
}

fetch() {
  curl --fail --silent --show-error --location --proto '=https' --retry 3 --connect-timeout 15 --max-time 180 --output "$2" "$1"
}

# Whether the archive was built by the release workflow of the action's repository: by the attestation that is published beside it
# and the roots of trust in this folder, so that no token is needed. The digest holds also where this cannot be looked at.
attested() {
  local base=$1 archive=$2 repository said code=0
  repository=$(printf '%s\n' "$base" | sed -n 's#^https://[^/]*/\([^/]*/[^/]*\)/releases/download/.*#\1#p')
  if [ ! -s "$here/trusted-root.jsonl" ] || [ -z "$repository" ]; then return 0; fi
  if ! command -v gh >/dev/null || ! gh attestation verify --help 2>/dev/null | grep -q -e --custom-trusted-root; then
    echo "The attestation was not looked at: no gh here that can."
    return 0
  fi
  if ! fetch "$base/upshift-attestation.jsonl" "$tools/attestation.jsonl"; then
    echo "The attestation was not looked at: it could not be downloaded."
    return 0
  fi
  said=$(limited 120 gh attestation verify "$archive" --repo "$repository" --signer-workflow "$repository/.github/workflows/release.yml" \
    --bundle "$tools/attestation.jsonl" --custom-trusted-root "$here/trusted-root.jsonl" 2>&1) || code=$?
  [ "$code" = 0 ] ||
    fail "$(basename "$archive") has the right SHA-256, but its attestation does not hold (gh exited with $code: ${said//$'\n'/ }). Do not use it; report it to the action's repository."
  echo "The attestation of $repository holds."
}

# A new folder above which nothing steers cargo or rustup: both read settings from all parents of the folder that they work in.
fresh_folder() {
  local base folder above clean
  for base in "${TMPDIR:-/tmp}" /tmp /var/tmp "${RUNNER_TEMP:-/tmp}"; do
    folder=$(mktemp -d "$base/upshift-build-XXXXXXXXXX" 2>/dev/null) || continue
    clean=yes
    above=$(cd "$folder" && pwd -P)
    while [ "$above" != / ] && [ "$above" != . ]; do
      above=$(dirname "$above")
      for name in .cargo rust-toolchain rust-toolchain.toml; do
        if [ -e "$above/$name" ] || [ -L "$above/$name" ]; then clean=no; fi
      done
    done
    if [ "$clean" = yes ]; then
      printf '%s\n' "$folder"
      return 0
    fi
    rmdir "$folder"
  done
  return 1
}

build() {
  command -v cargo >/dev/null ||
    fail "There is no released binary for this platform that could be downloaded, and no Rust toolchain to build one. Install Rust before this step, or use a release of the action."
  local folder variables
  folder=$(fresh_folder) ||
    fail "upshift cannot be built: settings of cargo or rustup (.cargo, rust-toolchain) stand above every temporary folder. Remove them from /tmp, /var/tmp and RUNNER_TEMP."
  echo "Building upshift from $source"
  mkdir "$folder/source" "$folder/cargo"
  tar -C "$source" --exclude=.git --exclude=target --exclude=.cargo --exclude=rust-toolchain --exclude=rust-toolchain.toml -cf - . |
    tar -C "$folder/source" -xf -
  variables=()
  for name in PATH HOME TMPDIR RUSTUP_HOME HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy \
    SSL_CERT_FILE SSL_CERT_DIR SYSTEMROOT SystemRoot WINDIR COMSPEC ProgramFiles ProgramData USERPROFILE APPDATA LOCALAPPDATA TEMP TMP; do
    if [ -n "${!name:-}" ]; then variables+=("$name=${!name}"); fi
  done
  (
    cd "$folder/source" &&
      limited 2400 /usr/bin/env -i "${variables[@]}" "CARGO_HOME=$folder/cargo" "CARGO_TARGET_DIR=$folder/target" \
        cargo build --release --locked --bin upshift
  ) || fail "upshift could not be built from its source. The lines above say why."
  cp "$folder/target/release/$program" "$tools/$program"
  rm -rf "$folder"
}

binary="$tools/$program"
if [ -n "${UPSHIFT_GIVEN_BINARY:-}" ]; then
  case "$UPSHIFT_GIVEN_BINARY" in *$'\n'* | *$'\r'*) fail "The input \`binary\` is not a path." ;; esac
  given
else
  platform=$(target) || { printf '%s\n' "$platform"; exit 1; }
  download "$platform" || build
fi
chmod 700 "$binary"
limited 60 "$binary" --version || fail "The binary does not run: $binary"
unique=$(od -An -N4 -tx4 /dev/urandom | tr -d ' ')
{
  printf 'binary=%s\n' "$binary"
  printf 'sha256=%s\n' "$(sha256 "$binary")"
  printf 'artifact=upshift-audit-%s-%s-%s\n' "${GITHUB_RUN_ID:-0}" "${GITHUB_RUN_ATTEMPT:-1}" "$unique"
} >>"$GITHUB_OUTPUT"
