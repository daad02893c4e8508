#!/usr/bin/env bash
# The one door: ./build.sh VERB. It installs what is missing and says so; when nothing is, it starts at once.
set -euo pipefail
cd "$(dirname "$0")"

usage() {
  cat <<'END'
usage: ./build.sh VERB
  demo             train a network on handwritten digits in a browser, here and now
  test [PATH...]   check, then all tests; or the tests under PATH alone
  serve            serve the site on this machine
  check            ruff and mypy
  bench NAME       run the measurement bench/NAME.py
  wheel            build dist/*.whl
  site             assemble the static site in dist/site
END
}

say() { printf '== %s\n' "$*" >&2; }

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# once NAME FILE... -- COMMAND...: runs the command unless it has run with these very files.
once() {
  local name=$1 files=() key; shift
  while [ "$1" != -- ]; do files+=("$1"); shift; done; shift
  key=$(cat "${files[@]}" | sha256sum)
  [ "$(cat ".cache/$name.stamp" 2>/dev/null)" = "$key" ] && return
  "$@"
  mkdir -p .cache
  echo "$key" > ".cache/$name.stamp"
}

debian() {
  local missing=()
  command -v chromium >/dev/null || missing+=(chromium)
  command -v chromedriver >/dev/null || missing+=(chromium-driver)
  command -v firefox-esr >/dev/null || missing+=(firefox-esr)
  [ -e /usr/share/vulkan/icd.d/lvp_icd.x86_64.json ] || missing+=(mesa-vulkan-drivers)
  "$system_python" -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
  [ ${#missing[@]} = 0 ] && return
  say "installing ${missing[*]} (apt)"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
}

make_venv() {
  say "installing Python packages in .venv"
  rm -rf .venv
  "$system_python" -m venv .venv
  .venv/bin/pip install -qq --disable-pip-version-check --require-hashes -r requirements-dev.txt
}

make_modules() {
  say "installing npm packages in node_modules"
  npm ci --silent --ignore-scripts
}

python_tools() { debian; [ -x .venv/bin/python ] || rm -f .cache/venv.stamp; once venv requirements-dev.txt -- make_venv; }

node_tools() { [ -d node_modules ] || rm -f .cache/npm.stamp; once npm package-lock.json -- make_modules; }

everything() { python_tools; node_tools; python tools/distribution.py; }

check() {
  local bad=0
  python_tools
  ruff check --quiet . || bad=1
  mypy --no-error-summary || bad=1
  return $bad
}

wheel() {
  python_tools
  rm -rf dist/*.whl
  pip wheel -qq --disable-pip-version-check --no-deps --no-build-isolation -w dist .
  ls dist/*.whl
}

run_tests() {
  everything
  [ $# -gt 0 ] || check
  python -m pytest "$@"
}

verb=${1:-}
[ $# -gt 0 ] && shift
system_python=$(readlink -f "$(command -v python3.11 || command -v python3)")
export PATH="$PWD/.venv/bin:$PATH"
case $verb in
  demo) everything; python tools/demo.py "$@" ;;
  test) run_tests "$@" ;;
  serve) everything; wheel >/dev/null; python tools/site.py; python tools/serve.py dist/site "$@" ;;
  check) check ;;
  bench) everything; python tools/bench.py "$@" ;;
  wheel) wheel ;;
  site) node_tools; wheel; python tools/site.py ;;
  "") usage ;;
  *) usage >&2; exit 2 ;;
esac
