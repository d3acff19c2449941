#!/bin/sh
# Put back what a bed changes of the machine's network: its Docker daemon makes docker0 and rules, and
# makes the rules of the machine's own daemon again without those of its containers. A bed also gives
# its node a name in /etc/hosts.
#
#   tests/deploy/bed/network.sh save DIRECTORY
#   tests/deploy/bed/network.sh restore DIRECTORY
#
# Rules that another program adds between the two calls are lost.
set -eu
step="${1:-}" directory="${2:-}"
settings="net/ipv4/ip_forward net/ipv4/conf/all/forwarding net/ipv6/conf/all/forwarding"

tables() { # names of the tables in a file of iptables-save
  sed -n 's/^\*//p' "$1"
}

case "$step" in
save)
  for program in iptables ip6tables; do
    "$program-save" >"$directory/$program" 2>/dev/null || rm -f "$directory/$program"
  done
  ip -o link show docker0 >"$directory/docker0" 2>/dev/null || rm -f "$directory/docker0"
  cp /etc/hosts "$directory/hosts"
  for setting in $settings; do
    [ ! -e "/proc/sys/$setting" ] || cat "/proc/sys/$setting" >"$directory/$(echo "$setting" | tr / .)"
  done
  ;;
restore)
  for program in iptables ip6tables; do
    [ -e "$directory/$program" ] || continue
    "$program-save" >"$directory/$program.now"
    for table in $(tables "$directory/$program.now"); do
      if tables "$directory/$program" | grep -qx "$table"; then continue; fi
      sed -n "/^\*$table\$/,/^COMMIT/p" "$directory/$program.now" \
        | sed -n 's/^:\([^ ]*\) [A-Z][A-Z]* .*/\1/p' | while read -r chain; do
        "$program" -t "$table" -P "$chain" ACCEPT
      done
      "$program" -t "$table" -F
      "$program" -t "$table" -X
    done
    "$program-restore" <"$directory/$program"
  done
  [ -e "$directory/docker0" ] || ip link delete docker0 2>/dev/null || :
  cmp -s "$directory/hosts" /etc/hosts || cat "$directory/hosts" >/etc/hosts
  for setting in $settings; do
    saved="$directory/$(echo "$setting" | tr / .)"
    [ ! -e "$saved" ] || cat "$saved" >"/proc/sys/$setting"
  done
  ;;
*)
  sed -n '2,9s/^# \{0,1\}//p' "$0"
  exit 2
  ;;
esac
