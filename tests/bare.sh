#!/usr/bin/env bash
# The demo and tests on a machine that has Python, make and git, and nothing else: no sshd, no
# Docker, no compiler, no Node, no wrk. Once as a user, who installs all packages, and once as root
# with these packages, in a root made by debootstrap. Usage: tests/bare.sh [PATH_OF_TESTS ...] (those
# that depend on the machine, when none is named).
set -euo pipefail
source_root=$(cd "$(dirname "$0")/.." && pwd)
default_tests=(tests/interactive tests/cli/interactive tests/agent/runtimes
  tests/e2e/test_local_cluster.py tests/e2e/test_life.py tests/e2e/test_tutorial.py)
tests=("$@")
if [ $# = 0 ]; then tests=("${default_tests[@]}"); fi
. "$source_root/tests/bare_root.sh"
git clone --quiet "$source_root" "$root/determined"
directory=/determined
for account in reader root; do
  home=/home/reader
  if [ "$account" = root ]; then home=/; fi
  echo "bare.sh: as $account"
  # Programs of an environment name its directory: both accounts use the same one.
  chroot "$root" chown -R "$account" /determined
  inside "$account" "$home" sh -c 'make demo && .venv/bin/det deploy local cluster-down --cluster-name demo'
  inside "$account" "$home" make test TESTS="${tests[*]}" AGAIN="${AGAIN:-}"
done
