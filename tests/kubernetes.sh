#!/bin/sh
# Run the suite of the Kubernetes backend on a real cluster.
#
#   tests/kubernetes.sh KUBECONFIG ADDRESS IMAGE
#
# KUBECONFIG reaches the cluster and may do what docs/kubernetes.md lists, ADDRESS is that of this
# machine as pods reach it, IMAGE is one with python3 and sh that the nodes have or can pull.
# Everything is made in namespace `default` and removed at the end.
set -eu
if [ $# -ne 3 ]; then
  sed -n '2,8s/^# \{0,1\}//p' "$0"
  exit 2
fi
export DET_TEST_KUBECONFIG="$1" DET_TEST_KUBERNETES_ADDRESS="$2" DET_TEST_KUBERNETES_IMAGE="$3"
cd "$(dirname "$0")/.."
exec "${PYTHON:-python3}" -m pytest -q -p no:cacheprovider tests/backends/kubernetes -k Real
