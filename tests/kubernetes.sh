#!/bin/sh
# Run the suites of the Kubernetes backend on a real cluster.
#
#   tests/kubernetes.sh KUBECONFIG ADDRESS IMAGE [SHARED]
#   tests/kubernetes.sh --bed SCRIPT
#
# KUBECONFIG reaches the cluster and may do what docs/kubernetes-permissions.md lists and make events, ADDRESS is
# that of this machine as pods reach it, IMAGE is one with python3, sh and sshd that the nodes have
# or can pull. With SHARED, a directory that the nodes have under the same path, whole experiments
# run too. Everything is made in namespace `default` and in new ones, and removed at the end.
#
# SCRIPT makes a cluster of one node on this machine: `SCRIPT up` prints the path of its kubeconfig
# as its last line, `SCRIPT image NAME` gives it such an image, `SCRIPT down` ends it. Needs kubectl,
# docker and iptables. The chart is installed there too: the bed keeps its files in TESTBED
# (/var/tmp/k8s-testbed) as bin/NAME, run/NAME.pid, run/docker.sock, run/pki and run/sa.key.
set -eu
usage() {
  sed -n '2,15s/^# \{0,1\}//p' "$0"
  exit 2
}

if [ $# -eq 2 ] && [ "$1" = --bed ]; then
  bed="$(realpath "$2")"
  shared="$(mktemp -d)" network="$(mktemp -d)"
  testbed="${TESTBED:-/var/tmp/k8s-testbed}"
  scripts="$(realpath "$(dirname "$0")/deploy/bed")"
  "$scripts/leftovers.sh" "$bed" "$testbed"
  # What another script of a bed has built is built again.
  made_by="$(sha256sum <"$bed" | cut -c 1-64)"
  [ "$(cat "$testbed/made-by" 2>/dev/null || echo "$made_by")" = "$made_by" ] \
    || rm -rf "$testbed/bin" "$testbed/rootfs" "$testbed/docker"
  mkdir -p "$testbed"
  echo "$made_by" >"$testbed/made-by"
  "$scripts/network.sh" save "$network"
  trap '"$scripts/down.sh" "$bed" "$testbed" || :; "$scripts/network.sh" restore "$network" || :
    rm -rf "$shared" "$network"' EXIT
  trap 'exit 143' TERM INT
  "$bed" up >"$shared/up" # a pipe would hide that it failed
  kubeconfig="$(tail -n 1 "$shared/up")"
  "$bed" image det-test:local
  ip='{.items[0].status.addresses[?(@.type=="InternalIP")].address}'
  address="$(kubectl --kubeconfig "$kubeconfig" get nodes -o jsonpath="$ip")"
  run="$testbed/run"
  # The master's pod checks the API server by an authority, which this bed does not publish.
  awk '/BEGIN/ { n++ } n == 2' "$run/pki/apiserver.crt" >"$run/pki/ca.crt"
  kill "$(cat "$run/controller-manager.pid")"
  "$run/../bin/kube-controller-manager" --kubeconfig="$kubeconfig" --leader-elect=false \
    --service-account-private-key-file="$run/sa.key" --root-ca-file="$run/pki/ca.crt" \
    --port=0 --secure-port=0 >"$run/controller-manager.log" 2>&1 </dev/null &
  echo $! >"$run/controller-manager.pid"
  export DET_TEST_KUBERNETES_DOCKER="unix://$run/docker.sock"
  # Old kubelets report a deleted pod as gone once its sandbox has ended and is removed. The bed's
  # program in a sandbox ignores the signal to end, as the program of Kubernetes does not.
  printf 'FROM pause:local\nSTOPSIGNAL SIGKILL\n' \
    | docker -H "$DET_TEST_KUBERNETES_DOCKER" build --quiet --tag pause:local - >/dev/null
  "$scripts/sandboxes.sh" "$kubeconfig" "$DET_TEST_KUBERNETES_DOCKER" \
    >"$run/sandboxes.log" 2>&1 </dev/null &
  echo $! >"$run/sandboxes.pid"
  export DET_TEST_KUBEMARK="$run/../bin/kubemark"
  set -- "$kubeconfig" "$address" det-test:local "$shared"
fi
[ $# -eq 3 ] || [ $# -eq 4 ] || usage
export DET_TEST_KUBERNETES_SHARED="${4:-}"
export DET_TEST_KUBECONFIG="$1" DET_TEST_KUBERNETES_ADDRESS="$2" DET_TEST_KUBERNETES_IMAGE="$3"
cd "$(dirname "$0")/.."
# Most tests wait for kubelets, so four groups run side by side. Those that add a node, or restart the
# kubelet, run alone: a node that runs nothing would get pods of other tests. So does the one with 50
# pods, which the others would wait for. With AGAIN, tests that fail run once more, alone.
alone="tests/e2e/test_remote_kubernetes.py tests/e2e/test_many_pods.py"
alone="$alone tests/backends/kubernetes/real_faults/test_kubelet.py"
alone="$alone tests/backends/kubernetes/test_real_scheduler.py"
# Devices need a cluster that has some, of the class that DET_TEST_DEVICE_CLASS names.
left_out=
[ -n "${DET_TEST_DEVICE_CLASS:-}" ] || left_out=tests/backends/kubernetes/devices
suites() { # workers, paths
  workers="$1"
  shift
  "${PYTHON:-python3}" tools/run_tests.py ${AGAIN:+--again} --workers "$workers" \
    -k "real or on_cluster" "$@"
}
# A node works on while tests run and after them: what it changes is not compared (left_behind.py).
export TEST_RUN_MARK=cluster
failed=0
# shellcheck disable=SC2046
suites 4 $(printf ' --ignore=%s' $alone $left_out) tests/deploy/helm/test_on_cluster.py \
  tests/deploy/helm/test_page_on_cluster.py \
  tests/backends/kubernetes tests/e2e/test_kubernetes.py tests/e2e/test_kubernetes_page.py \
  tests/e2e/test_gateway.py tests/e2e/test_real_hollow_nodes.py tests/e2e/test_real_demand.py \
  || failed=$?
# shellcheck disable=SC2086
suites 1 $alone || failed=$?
exit "$failed"
