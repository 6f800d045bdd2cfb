#!/usr/bin/env bash
# Finds the upshift binary for the action: the given one (the inputs `binary` and `sha256`), else the released one for this
# platform whose SHA-256 stands in checksums.txt beside this file, else one built from the action's own source.
# Writes the outputs `binary`, `sha256`, `command` and `artifact` (a name that no other step of this workflow run has).
#
# The step stands in a checkout that strangers may have written, behind steps that may have left variables. So nothing but the
# variables named below is kept, no tool is looked for on the job's PATH before the system's folders, nothing is built in the
# checkout, and no secret is here.
set -euo pipefail

# Git for Windows has its tools under the same names.
system=/usr/bin:/bin:/usr/sbin:/sbin
case ":$PATH:" in ":$system:"*) ;; *) PATH=$system:$PATH ;; esac

# What this file, curl, rustup and a linker need; all else (keys, RUSTC_WRAPPER, CARGO_*, RUSTFLAGS, TAR_OPTIONS, GIT_*) is left behind.
kept=(PATH HOME RUSTUP_HOME RUNNER_TEMP RUNNER_TOOL_CACHE RUNNER_OS RUNNER_ARCH
  GITHUB_OUTPUT GITHUB_PATH GITHUB_WORKSPACE GITHUB_RUN_ID GITHUB_RUN_ATTEMPT
  UPSHIFT_GIVEN_COMMAND UPSHIFT_GIVEN_MODE UPSHIFT_GIVEN_BINARY UPSHIFT_GIVEN_SHA256 UPSHIFT_GIVEN_AGENTS
  HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy
  SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS
  SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC TEMP TMP USERPROFILE APPDATA LOCALAPPDATA PROGRAMDATA)
if [ "${1:-}" != --clean ]; then
  environment=()
  for name in "${kept[@]}"; do
    if [ -n "${!name:-}" ]; then environment+=("$name=${!name}"); fi
  done
  exec env -i "${environment[@]}" "$BASH" --noprofile --norc -p "${BASH_SOURCE[0]}" --clean "$@"
fi

# Of the gate, the agents alone, once it is known that a run may start.
if [ "${2:-}" = --agents ]; then
  exec "$BASH" --noprofile --norc -p "$(dirname "${BASH_SOURCE[0]}")/agents.sh"
fi

# One file for all archives of a release, written by release.yml.
bundles=upshift.attestation.jsonl
here=$(cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$(dirname "$here")
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
  if command -v sha256sum >/dev/null; then sha256sum <"$1"; else shasum -a 256 <"$1"; fi | cut -d ' ' -f 1
}

# A folder of our own that nobody else can have put anything into.
private_folder() {
  local base=$1
  # Git's shell on Windows takes no backslash for a separator everywhere, and `C:` for a host in some places.
  if command -v cygpath >/dev/null; then base=$(cygpath -u "$base"); fi
  mkdir -p "$base" && (cd -P "$(mktemp -d "$base/upshift-install.XXXXXXXX")" && pwd)
}

# Cargo and rustup read settings, workspaces and toolchains from every folder above the one they work in.
steers_cargo() {
  local folder=$1 name
  while :; do
    for name in .cargo Cargo.toml rust-toolchain rust-toolchain.toml; do
      if [ -e "$folder/$name" ] || [ -L "$folder/$name" ]; then echo "$folder/$name" && return 0; fi
    done
    if [ "$folder" = / ] || [ "$folder" = "$(dirname "$folder")" ]; then return 1; fi
    folder=$(dirname "$folder")
  done
}

# Where it is built: a private folder that nothing above steers.
workshop() {
  local base folder above=
  for base in "${RUNNER_TEMP:-/tmp}" /tmp /var/tmp /opt /; do
    folder=$(private_folder "$base" 2>/dev/null) || continue
    if ! above=$(steers_cargo "$folder"); then echo "$folder" && return 0; fi
    rmdir "$folder"
  done
  fail "upshift cannot be built: $above would steer cargo, and there is no other folder to build in. Remove it, or give the inputs binary and sha256."
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
  attested "$base" "$archive"
  tar -xzf "$tools/$archive" -C "$tools" "$program"
}

# Where gh is there: that our release workflow built it, by the bundle that is shipped beside it, without a token. What is checked last
# needs no network, so that its failure is the bundle's.
attested() {
  local repository=${1#https://*/} file="$tools/$2" bundle="$tools/$bundles" root="$tools/trusted-root.jsonl" code=0
  repository=${repository%/releases/*}
  export GH_CONFIG_DIR="$tools/gh" GH_NO_UPDATE_NOTIFIER=1 GH_PROMPT_DISABLED=1
  if ! command -v gh >/dev/null; then unattested "gh is not installed here" && return; fi
  if ! gh attestation verify --help 2>/dev/null | grep -q -e --custom-trusted-root; then unattested "this gh is too old" && return; fi
  if ! fetch "$1/$bundles" "$bundle"; then unattested "$bundles could not be downloaded" && return; fi
  if ! limited 60 gh attestation trusted-root >"$root" 2>/dev/null; then unattested "gh could not fetch the keys that sign" && return; fi
  limited 60 gh attestation verify "$file" --bundle "$bundle" --custom-trusted-root "$root" --repo "$repository" \
    --signer-workflow "$repository/.github/workflows/release.yml" || code=$?
  case "$code" in
    0) echo "Attested: $2 was built by the release workflow of $repository" ;;
    # gh's own code for: log in first.
    4) unattested "gh asks for a login" ;;
    *) fail "$2 fits its digest, but gh does not find it attested as built by the release workflow of $repository (exit $code). Do not use it; report it to the action's repository." ;;
  esac
}

unattested() {
  echo "The attestation was not checked, the SHA-256 was: $1."
}

# `-q`: no .curlrc.
fetch() {
  curl -q --fail --silent --show-error --location --proto '=https' --retry 3 --connect-timeout 15 --max-time 180 --output "$2" "$1"
}

build() {
  local shop
  command -v cargo >/dev/null ||
    fail "There is no released binary for this platform that could be downloaded, and no Rust toolchain to build one. Install Rust before this step, or give the inputs binary and sha256."
  shop=$(workshop) || { printf '%s\n' "$shop"; exit 1; }
  mkdir "$shop/source" "$shop/cargo" "$shop/tmp"
  tar -C "$source" --exclude=./.git --exclude=./target --exclude=./.cargo -cf - . | tar -C "$shop/source" -xf -
  echo "Building upshift from $source in $shop"
  (
    cd "$shop/source"
    CARGO_HOME="$shop/cargo" CARGO_TARGET_DIR="$shop/target" TMPDIR="$shop/tmp" limited 2400 cargo build --release --locked
  ) || fail "upshift could not be built from its source. The lines above say why."
  cp "$shop/target/release/$program" "$tools/$program"
  rm -rf "$shop"
}

# The digest is that of the copy, which nobody else knows the place of.
given() {
  [ -f "$UPSHIFT_GIVEN_BINARY" ] || fail "The input binary names no file: $UPSHIFT_GIVEN_BINARY"
  [[ "${UPSHIFT_GIVEN_SHA256:-}" =~ ^[0-9a-f]{64}$ ]] ||
    fail "The input binary needs the input sha256 beside it: 64 hexadecimal digits, as the output sha256 of the gate's step gives them."
  cp "$UPSHIFT_GIVEN_BINARY" "$binary"
  local got
  got=$(sha256 "$binary")
  [ "$got" = "$UPSHIFT_GIVEN_SHA256" ] ||
    fail "The given binary has the SHA-256 $got, but the input sha256 says $UPSHIFT_GIVEN_SHA256: it is not the program that was named. It was not started. Look at the steps between the two."
  chmod 700 "$binary"
}

command=${UPSHIFT_GIVEN_COMMAND:-run}
case "$command" in
  run | gate | resume | install) ;;
  *) fail "The input command is «${command//[^a-zA-Z0-9_-]/?}», but must be run, gate, resume or install." ;;
esac
case "${UPSHIFT_GIVEN_MODE:-fix}/$command" in
  fix/*) ;;
  judge/run) command=judge ;;
  judge/*) fail "The input mode is judge, so that command must be run, not $command." ;;
  *) fail "The input mode is «${UPSHIFT_GIVEN_MODE//[^a-zA-Z0-9_-]/?}», but must be fix or judge." ;;
esac
tools=$(private_folder "${RUNNER_TEMP:-/tmp}")
binary="$tools/$program"
if [ -n "${UPSHIFT_GIVEN_BINARY:-}" ]; then
  given
else
  platform=$(target) || { printf '%s\n' "$platform"; exit 1; }
  download "$platform" || build
fi
"$binary" --version
digest=$(sha256 "$binary")
# The steps behind this one are no shell of Git's.
shown=$binary
if command -v cygpath >/dev/null; then shown=$(cygpath -m "$binary"); fi
unique=$(od -An -N4 -tx4 /dev/urandom | tr -d ' ')
{
  printf 'binary=%s\n' "$shown"
  printf 'sha256=%s\n' "$digest"
  printf 'command=%s\n' "$command"
  printf 'artifact=upshift-audit-%s-%s-%s\n' "${GITHUB_RUN_ID:-0}" "${GITHUB_RUN_ATTEMPT:-1}" "$unique"
} >>"$GITHUB_OUTPUT"
# Those of the gate are installed behind it, where it says that a run may start.
if [ -n "${UPSHIFT_GIVEN_AGENTS:-}" ] && [[ "$command" == run || "$command" == resume ]]; then
  "$BASH" --noprofile --norc -p "$here/agents.sh"
fi
