# A machine's root with Python, make and git, and nothing else: sourced by bare.sh and installed.sh. The
# root is kept where tests/kept_trees.py keeps others, in an archive named by a hash of the command that
# makes it. Sets `work`, a directory that ends with the script, and `root`. `inside ACCOUNT HOME COMMAND`
# runs a command in `directory`, with the network of this machine or, if `is_offline` is set, with none.
# Where there can be no root, the script says so, also in the file SKIPPED_FILE, and ends with
# SKIPPED_STATUS (0).
name=$(basename "$0")
skip() {
  echo "$name is skipped: $1" | tee "${SKIPPED_FILE:-/dev/null}"
  exit "${SKIPPED_STATUS:-0}"
}
if [ "$(id -u)" != 0 ] || ! command -v debootstrap unshare >/dev/null; then
  skip "it needs root, debootstrap and unshare"
fi
if ! unshare --mount --pid --fork true 2>/dev/null; then
  skip "this machine allows no mount and process namespaces"
fi
work=$(mktemp -d /tmp/det-bare-XXXXXX)
root=$work/root
trap 'rm -rf --one-file-system "$work"' EXIT

release=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
packages=python3,python3-venv,make,git,ca-certificates,passwd
made_by=(debootstrap --variant=minbase "--include=$packages" "$release")
cache=${BARE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/determined-tests}
packed=$cache/bare-$({ uname -m; printf '%s\n' "${made_by[@]}"; } | sha256sum | cut -c 1-16).tar
mkdir -p "$cache"
if [ -f "$packed" ]; then
  mkdir "$root" && tar -C "$root" -xpf "$packed" && touch "$packed"
else
  echo "$name: making a root of $release ..."
  "${made_by[@]}" "$root" >"$work/log" 2>&1 || {
    tail -5 "$work/log"
    skip "debootstrap could not make a root"
  }
  rm -rf "$root"/var/cache/apt/archives/*.deb
  tar -C "$root" -cf "$packed.part" . && mv "$packed.part" "$packed"
fi
find "$cache" -name 'bare-*' -mtime +30 -delete
for command in sshd ssh docker wrk gcc cc node; do
  if [ -n "$(find "$root"/{bin,sbin,usr/bin,usr/sbin} -name "$command" 2>/dev/null)" ]; then
    echo "$name: the root has $command"
    exit 1
  fi
done
cp /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
if [ -f /etc/pip.conf ]; then cp /etc/pip.conf "$root/etc/pip.conf"; fi
# A registry may be reached through a proxy whose certificate only this machine knows.
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" 2>/dev/null || true
chroot "$root" useradd --create-home reader

# Packages come from where this machine's pip takes them: directories of it are shown in the root.
mapfile -t pip_settings < <(env | grep -E '^(PIP_|SSL_CERT_|REQUESTS_CA_|https?_proxy=|no_proxy=)' || true)
mapfile -t shared < <({ python3 -m pip config list; env | grep '^PIP_' || true; } \
  | grep -oE '(file://)?/[^ '\'']+' | sed 's|^file://||' | while read -r path; do
    if [ -d "$path" ]; then echo "$path"; fi; done | sort -u)
# The packages of the web UI come from where this machine's npm takes them.
mapfile -t npm_settings < <(for key in registry cafile; do
  value=$(npm config get "$key" 2>/dev/null || true)
  if [ -n "$value" ] && [ "$value" != null ]; then echo "npm_config_$key=$value"; fi
done)

# A process namespace ends whatever is left; its mounts end with it.
inside() {
  local account=$1 home=$2
  shift 2
  unshare --mount --pid ${is_offline:+--net} --fork --kill-child bash -euc '
    root=$1 account=$2 home=$3 shared=$4 directory=$5 is_offline=$6
    shift 6
    [ -z "$is_offline" ] || ip link set lo up
    mount --rbind /dev "$root/dev"
    mount -t proc proc "$root/proc"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    while read -r path; do
      [ -n "$path" ] || continue
      mkdir -p "$root$path"
      mount --rbind -o ro "$path" "$root$path"
    done <<<"$shared"
    exec chroot "$root" /sbin/runuser -u "$account" -- env -C "$directory" -i \
      HOME="$home" USER="$account" LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin "$@"
  ' bash "$root" "$account" "$home" "$(printf '%s\n' "${shared[@]}")" "$directory" "${is_offline:-}" \
    ${CI:+CI=$CI} "${pip_settings[@]}" "${npm_settings[@]}" "$@"
}
