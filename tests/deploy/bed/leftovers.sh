#!/bin/sh
# Remove what a run of a bed left that was killed, or whose machine went down.
#
#   tests/deploy/bed/leftovers.sh SCRIPT TESTBED
#
# Processes that still run are ended by `SCRIPT down`, which ends every process of TESTBED/run/*.pid.
# A file whose process has ended is removed first: its id may be that of another process now. Docker
# waits for ever for a containerd of such an id. Mounts of the kubelet are removed as often as they
# are there: `SCRIPT up` stops at one that is there twice.
set -eu
bed="$1" testbed="$2"

left= containerd="$testbed/run/docker/containerd/containerd.pid"
for file in "$testbed"/run/*.pid "$containerd"; do
  [ -e "$file" ] || continue
  # Each process of a bed has a path of it among its arguments.
  if grep -qaF "$testbed" "/proc/$(cat "$file")/cmdline" 2>/dev/null; then
    left=yes
    [ "$file" != "$containerd" ] || cp "$file" "$testbed/run/containerd.pid" # `down` ends it too
  else
    rm -f "$file"
  fi
done
# It stops at such a mount too, after the processes.
[ -z "$left" ] || "$(dirname "$0")/down.sh" "$bed" "$testbed" || :

mounts() {
  awk -v under="$testbed/run/kubelet/" 'index($2, under) == 1 { print $2 }' /proc/mounts
}
rounds=0
while [ -n "$(mounts)" ]; do
  rounds=$((rounds + 1))
  [ "$rounds" -le 20 ] || { echo "still mounted: $(mounts | head -n 3)" >&2; exit 1; }
  mounts | xargs umount -l 2>/dev/null || :
done
