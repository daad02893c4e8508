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
  "$@" || return
  mkdir -p .cache
  echo "$key" > ".cache/$name.stamp"
}

debian() {
  local missing=()
  command -v chromium >/dev/null || missing+=(chromium)
  command -v chromedriver >/dev/null || missing+=(chromium-driver)
  command -v firefox-esr >/dev/null || missing+=(firefox-esr)
  compgen -G '/usr/share/vulkan/icd.d/lvp_icd*' >/dev/null || missing+=(mesa-vulkan-drivers)
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

make_torch() {
  say "installing PyTorch in .cache/torch, to compare with"
  rm -rf .cache/torch
  "$system_python" -m venv .cache/torch
  .cache/torch/bin/pip install -qq --disable-pip-version-check --no-deps -r requirements-torch.txt
  .cache/torch/bin/python -c 'import torch'
}

# Only the demo compares with PyTorch, and it runs without: so a failure is said and no more.
torch_tools() { once torch requirements-torch.txt -- make_torch || { rm -rf .cache/torch; say "no PyTorch: not compared with"; }; }

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

site() { node_tools; wheel >/dev/null; python tools/site.py; }

bench() {
  if [ $# = 0 ] || [ ! -f "bench/$1.py" ]; then
    echo "usage: ./build.sh bench NAME; there are: $(cd bench && echo *.py | sed 's/\.py//g')" >&2
    exit 2
  fi
  everything
  python "bench/$1.py" "${@:2}"
}

run_tests() {
  local bad=0
  everything
  [ $# -gt 0 ] || check || bad=1
  python -m pytest --numprocesses auto --maxprocesses 4 --dist loadgroup "$@" || bad=1
  return $bad
}

verb=${1:-}
[ $# -gt 0 ] && shift
system_python=$(readlink -f "$(command -v python3.11 || command -v python3)")
export PATH="$PWD/.venv/bin:$PATH" PYTHONPATH="$PWD"
case $verb in
  demo) debian; torch_tools & everything; wait; python tools/demo.py "$@" ;;
  test) run_tests "$@" ;;
  serve) site; python tools/browser.py serve dist/site "$@" ;;
  check) check ;;
  bench) bench "$@" ;;
  wheel) wheel ;;
  site) site ;;
  "") usage ;;
  *) usage >&2; exit 2 ;;
esac
