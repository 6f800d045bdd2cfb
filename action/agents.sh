#!/usr/bin/env bash
# Installs the coding agents that the input `agents` names, in exact versions, from npm's registry: `claude@2.1.330,codex@0.169.0`.
# Started by install.sh, in the environment that it has cleaned: there is no key in it. Each agent gets an empty folder of its own and
# npm's configuration from here alone. No package runs a script, but for the agent's own published one: without it some are stubs.
# Writes the folder with their programs into GITHUB_PATH, so that the steps behind this one find them.
set -euo pipefail

# The names that upshift has for them, and their packages.
package() {
  case "$1" in
    claude) echo @anthropic-ai/claude-code ;;
    codex) echo @openai/codex ;;
    opencode) echo opencode-ai ;;
    gemini) echo @google/gemini-cli ;;
    copilot) echo @github/copilot ;;
    qwen) echo @qwen-code/qwen-code ;;
    *) return 1 ;;
  esac
}

fail() {
  printf '::error title=agents could not be installed::%s\n' "$1"
  exit 1
}

limited() {
  if command -v timeout >/dev/null; then timeout --kill-after=10 "$@"; else shift && "$@"; fi
}

# A program by the job's PATH that lies in the checkout could be anybody's.
trusted() {
  local found
  found=$(command -v "$1") || fail "$1 is not there, which the input agents needs. Have a step such as actions/setup-node bring it, before this one."
  found=$(cd -P "$(dirname "$found")" && pwd)
  case "$found/" in "${GITHUB_WORKSPACE:-/nowhere}"/*) fail "$1 is inside the checkout ($found); it was not started." ;; esac
}

# Everything is looked at before anything is fetched.
check() {
  local name=${1%%@*} version=${1#*@}
  package "$name" >/dev/null ||
    fail "«${name//[^a-zA-Z0-9_-]/?}» is not an agent that upshift knows: claude, codex, opencode, gemini, copilot, qwen."
  [[ "$1" == *@* && "$version" =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] ||
    fail "$name needs an exact version, as in $name@1.2.3; the input agents says «${1//[^a-zA-Z0-9@.^~_-]/?}»."
}

read -r -a agents <<<"${UPSHIFT_GIVEN_AGENTS//[$'\n\t, ']/ }"
[ ${#agents[@]} -gt 0 ] || fail "the input agents names none."
for agent in "${agents[@]}"; do check "$agent"; done
case "${RUNNER_OS:-$(uname -s)}" in
  Linux | macOS | Darwin) ;;
  *) fail "the input agents works on Linux and macOS. Install the agents in a step of your own here." ;;
esac
trusted node
trusted npm
# Not below RUNNER_TEMP, which nothing that upshift confines can read. What earlier jobs left there is not used, and removed.
base="${RUNNER_TOOL_CACHE:-$HOME/.cache}/upshift-agents"
mkdir -p "$base"
find "$base" -mindepth 1 -maxdepth 1 -name 'job.*' -mmin +1440 -exec rm -rf {} + || true
home=$(cd -P "$(mktemp -d "$base/job.XXXXXXXX")" && pwd)
mkdir "$home/bin" "$home/home"
printf 'ignore-scripts=true\naudit=false\nfund=false\nupdate-notifier=false\n' >"$home/npmrc"
: >"$home/npmrc.global"

npm_alone() {
  local folder=$1
  shift
  (cd "$folder" && HOME="$home/home" limited 600 npm --userconfig "$home/npmrc" --globalconfig "$home/npmrc.global" \
    --cache "$home/cache" --prefix "$folder" "$@")
}

# What the package itself would have run, in its order.
own_scripts() {
  local folder=$1 name script
  for name in preinstall install postinstall; do
    script=$(node -p 'require(process.argv[1] + "/package.json").scripts?.[process.argv[2]] ?? ""' "$folder" "$name")
    if [ -n "$script" ]; then
      (cd "$folder" && env -i PATH="$PATH" HOME="$home/home" ${NODE_EXTRA_CA_CERTS:+NODE_EXTRA_CA_CERTS="$NODE_EXTRA_CA_CERTS"} \
        /bin/sh -c "$script") || fail "the published $name script of $(basename "$folder") failed. The lines above say why."
    fi
  done
}

install() {
  local name=${1%%@*} version=${1#*@} package folder got
  package=$(package "$name")
  echo "Installing $package@$version"
  mkdir "$home/$name"
  echo '{"private":true}' >"$home/$name/package.json"
  npm_alone "$home/$name" install --loglevel=error --ignore-scripts "$package@$version" ||
    fail "npm could not install $package@$version. The lines above say why."
  folder="$home/$name/node_modules/$package"
  got=$(node -p 'require(process.argv[1] + "/package.json").version' "$folder")
  [ "$got" = "$version" ] || fail "npm brought $package@$got instead of $version."
  own_scripts "$folder"
  [ -e "$home/$name/node_modules/.bin/$name" ] || fail "$package@$version has no program \`$name\`."
  ln -s "$home/$name/node_modules/.bin/$name" "$home/bin/$name"
  # Once, without a key, in an empty home: a stub says so here and not in the middle of a run.
  (cd "$home/home" && limited 60 env -i PATH="$PATH" HOME="$home/home" "$home/bin/$name" --version </dev/null) ||
    fail "$package@$version does not start. The lines above say why."
}

for agent in "${agents[@]}"; do install "$agent"; done
rm -rf "$home/cache"
printf '%s\n' "$home/bin" >>"$GITHUB_PATH"
