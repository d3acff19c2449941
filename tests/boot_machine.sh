#!/bin/bash
# Boots the system in ROOT: systemd as process 1 of namespaces of its own, in cgroups of its own
# (cgroup v1). Its end ends all that runs in it. Usage: boot_machine.sh ROOT CGROUP
set -euo pipefail
root=$1 cgroup=$2
hierarchies=$(awk '$3 == "cgroup" { print $2, $4 }' /proc/mounts)
[ -n "$hierarchies" ] || { echo "no cgroup v1 is mounted here" >&2; exit 1; }
while read -r path _; do
  mkdir -p "$path/$cgroup"
  for file in cpuset.cpus cpuset.mems; do # empty in a new cgroup, which then takes no process
    if [ -e "$path/$file" ]; then cat "$path/$file" >"$path/$cgroup/$file"; fi
  done
  echo $$ >"$path/$cgroup/cgroup.procs"
done <<<"$hierarchies"
# systemd mounts version 2 too, and makes groups there for services to which it delegates theirs. As
# the namespace begins at the own group, they lie below it and go with it.
while read -r path; do
  mkdir -p "$path/$cgroup"
  echo $$ >"$path/$cgroup/cgroup.procs"
done < <(awk '$3 == "cgroup2" { print $2 }' /proc/mounts)
exec unshare --mount --pid --fork --kill-child --uts --ipc --cgroup bash -euc '
  root=$1
  mount --make-rprivate /
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount -t sysfs -o ro sysfs "$root/sys"
  mount -t tmpfs -o mode=755 tmpfs "$root/dev"
  for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
  done
  mkdir "$root/dev/pts" "$root/dev/shm"
  mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
  ln -s pts/ptmx "$root/dev/ptmx"
  ln -s /proc/self/fd "$root/dev/fd"
  mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
  mount -t tmpfs -o mode=755 tmpfs "$root/run"
  mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
  while read -r path options; do
    mkdir -p "$root$path"
    wanted=$(tr , "\n" <<<"$options" | grep -vE "^(rw|relatime|nosuid|nodev|noexec)$" | paste -sd,)
    case $wanted in name=*) wanted=none,$wanted ;; esac
    mount -t cgroup -o "$wanted" cgroup "$root$path"
  done <<<"$2"
  cd "$root"
  mkdir -p old
  pivot_root . old
  umount -l /old
  rmdir /old
  exec env -i container=determined-test PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    /sbin/init
' bash "$root" "$hierarchies"
