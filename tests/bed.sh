#!/usr/bin/env bash
# The suites of Kubernetes on a real cluster of one node, which a script makes from Debian's sources:
# ../shared/testbed/kubernetes/cluster, or the one that DET_TESTBED names. Its first build takes 5 to
# 7 minutes; TESTBED keeps the programs for the next run. Where this machine cannot run it, this
# script prints what is missing and ends without an error.
set -euo pipefail
cd "$(dirname "$0")/.."
bed="${DET_TESTBED:-../shared/testbed/kubernetes/cluster}"
PATH="$PATH:/usr/sbin"
missing() {
  [ -x "$bed" ] || { echo "the script $bed, or another one that DET_TESTBED names"; return; }
  [ "$(id -u)" = 0 ] || { echo "root"; return; }
  grep -qx 'VERSION_ID="12"' /etc/os-release && command -v apt-get >/dev/null || { echo "Debian 12"; return; }
  command -v dockerd >/dev/null || { echo "docker.io"; return; }
  command -v iptables >/dev/null || { echo "iptables"; return; }
  command -v socat >/dev/null || { echo "socat"; return; } # the kubelet forwards ports with it
  iptables -t nat -S >/dev/null 2>&1 || echo "the right to change rules of iptables"
}
reason="$(missing)"
if [ -n "$reason" ]; then
  echo "tests/bed.sh is skipped: this machine has not $reason" | tee "${SKIPPED_FILE:-/dev/null}"
  exit 0
fi
PYTHON="$PWD/.venv/bin/python" exec tests/kubernetes.sh --bed "$bed"
