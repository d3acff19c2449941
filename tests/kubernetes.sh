#!/bin/sh
# Run the suites of the Kubernetes backend on a real cluster.
#
#   tests/kubernetes.sh KUBECONFIG ADDRESS IMAGE [SHARED]
#
# KUBECONFIG reaches the cluster and may do what docs/kubernetes.md lists, ADDRESS is that of this
# machine as pods reach it, IMAGE is one with python3, sh and sshd that the nodes have or can pull.
# With SHARED, a directory that the nodes have under the same path, whole experiments run too.
# Everything is made in namespace `default` and in new ones, and removed at the end.
set -eu
if [ $# -lt 3 ] || [ $# -gt 4 ]; then
  sed -n '2,9s/^# \{0,1\}//p' "$0"
  exit 2
fi
export DET_TEST_KUBERNETES_SHARED="${4:-}"
export DET_TEST_KUBECONFIG="$1" DET_TEST_KUBERNETES_ADDRESS="$2" DET_TEST_KUBERNETES_IMAGE="$3"
cd "$(dirname "$0")/.."
exec "${PYTHON:-python3}" -m pytest -q -p no:cacheprovider tests/backends/kubernetes tests/e2e/test_kubernetes.py -k real
