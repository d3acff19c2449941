#!/bin/sh
# Remove the containers of deleted pods from the Docker daemon of a bed's node when they have ended.
#
#   tests/deploy/bed/sandboxes.sh KUBECONFIG DOCKER_HOST
#
# The kubelet of Kubernetes 1.20 removes the last of them, the sandbox, once a minute, which no
# option of it changes, and reports a deleted pod as gone only afterwards. Runs until it is ended.
set -u
export KUBECONFIG="$1" DOCKER_HOST="$2"

remove() { # the uid of a pod
  of_pod="label=io.kubernetes.pod.uid=$1"
  running="$(docker ps -q --filter "$of_pod")"
  # shellcheck disable=SC2086
  [ -z "$running" ] || docker wait $running
  sleep 4 # the kubelet looks once a second, and the master copies the rest of the log
  # A kubelet does not start where a container has lost its sandbox: that one comes last.
  for type in container podsandbox; do
    for id in $(docker ps -aq --no-trunc --filter status=exited --filter "$of_pod" \
      --filter "label=io.kubernetes.docker.type=$type"); do
      docker rm "$id" && rm -f "/var/lib/dockershim/sandbox/$id" # the kubelet's note of it
    done
  done
}

place="$(mktemp -d)"
changes="$place/changes"
mkfifo "$changes"
watch=
trap 'rm -rf "$place"; [ -z "$watch" ] || kill "$watch" 2>/dev/null' EXIT
trap 'exit 143' TERM INT
while :; do
  kubectl get pods --all-namespaces --watch --no-headers \
    -o custom-columns=UID:.metadata.uid,DELETED:.metadata.deletionTimestamp >"$changes" &
  watch=$!
  while read -r uid deleted; do
    [ "$deleted" = "<none>" ] || remove "$uid" &
  done <"$changes"
  wait "$watch"
  sleep 1 # the API server is away
done
