#!/usr/bin/env bash
# The demo and the tests in a fresh clone, as a user without rights who exists for this run only.
# Only root can make a user. Usage: tests/unprivileged.sh [PATH_OF_TESTS ...] (all, when none is named).
# With paths, a web UI that is built here already is taken over: tests/bare.sh builds it as a user.
set -euo pipefail
source_root=$(cd "$(dirname "$0")/.." && pwd)
if [ "$(id -u)" != 0 ] || ! command -v useradd runuser >/dev/null; then
  reason="needs root with useradd and runuser; as another user, 'make test test-deployments test-e2e' is this test"
  echo "unprivileged.sh is skipped: $reason" | tee "${SKIPPED_FILE:-/dev/null}"
  exit 0
fi
user="det-test-$$"
home=$(mktemp -d /tmp/det-user-XXXXXX)
chmod 755 "$home"
useradd --no-create-home --home-dir "$home" --shell /bin/bash "$user"
# What has ended and was only not waited for yet is nothing that was left behind.
processes() { { ps -u "$user" -o pid=,stat= || true; } | awk '$2 !~ /^Z/ { print $1 }'; }
finish() {
  code=$?
  left=$(processes)
  for pid in $left; do kill -9 "$pid" 2>/dev/null || true; done
  if [ -n "${lender:-}" ]; then
    exec {lease}>&-
    wait "$lender" || true
  fi
  for _ in $(seq 50); do [ -z "$(processes)" ] && break; sleep 0.1; done
  userdel "$user"
  rm -rf "$home"
  exit $code
}
trap finish EXIT

as_user() {
  runuser -u "$user" -- env -i HOME="$home" USER="$user" LANG=C.UTF-8 \
    PATH=/usr/local/bin:/usr/bin:/bin ${CI:+CI=$CI} "${pip_settings[@]}" "${npm_settings[@]}" "$@"
}
mapfile -t pip_settings < <(env | grep -E '^(PIP_|SSL_CERT_|REQUESTS_CA_|https?_proxy=|no_proxy=)' || true)
# The packages of the web UI come from where this machine's npm takes them.
mapfile -t npm_settings < <(for key in registry cafile; do
  value=$(npm config get "$key" 2>/dev/null || true)
  if [ -n "$value" ] && [ "$value" != null ]; then echo "npm_config_$key=$value"; fi
done)

# The interpreter that runs the tests may lie in a home that others cannot enter.
python=
for found in python3 python3.11 python3.12 python3.13 /usr/bin/python3.1{1,2,3}; do
  path=$(command -v "$found") || continue
  if as_user "$path" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' \
      2>/dev/null; then
    python=$path
    break
  fi
done
if [ -z "$python" ]; then
  echo "unprivileged.sh: another user may run no Python 3.11 or newer with venv here:" \
    "install python3-venv"
  exit 1
fi

if ! git clone --quiet "$source_root" "$home/determined" 2>/dev/null; then # no repository, or not ours
  cp -a "$source_root" "$home/determined"
  rm -rf "$home"/determined/.venv "$home"/determined/.venv-* "$home"/determined/webui/node_modules
fi
built=src/determined_master/webui
if [ $# -gt 0 ] && [ -f "$source_root/$built/.hash" ]; then
  cp -aT "$source_root/$built" "$home/determined/$built"
fi
chown -R "$user" "$home"
cd "$home/determined"
# Root lends a Docker daemon, as an admin does for the group of Docker; it ends with its input.
lent=()
if [[ $# = 0 || "$*" == *attacks* ]]; then
  mkfifo -m 600 "$home/lease"
  "$python" -B -m tests.lent_docker "$user" <"$home/lease" >"$home/lent" &
  lender=$!
  exec {lease}>"$home/lease"
  until [ -s "$home/lent" ] || ! kill -0 "$lender" 2>/dev/null; do sleep 0.2; done
  if [ -s "$home/lent" ]; then lent=("LENT_DOCKER=$(cat "$home/lent")"); fi
fi
echo "as $user, with $python"
as_user make demo PYTHON="$python"
as_user .venv/bin/det deploy local cluster-down --cluster-name demo
left=$(processes)
if [ -n "$left" ]; then
  echo "unprivileged.sh: the demo left processes behind:"
  ps -u "$user" -o pid,args
  exit 1
fi
as_user "${lent[@]}" make test PYTHON="$python" TESTS="$*" AGAIN="${AGAIN:-}"
if [ $# = 0 ]; then as_user "${lent[@]}" make test-deployments test-e2e PYTHON="$python" AGAIN="${AGAIN:-}"; fi
left=$(processes)
if [ -n "$left" ]; then
  echo "unprivileged.sh: the tests left processes behind:"
  ps -u "$user" -o pid,args
  exit 1
fi
