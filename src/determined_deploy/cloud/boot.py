"""The script that makes a bare Ubuntu the master's machine, at each of its starts.

Each cloud gives the part that finds the database's disk and the part that fetches the wheel and
the secret. `${name}` is a variable that the cloud fills; a literal `${` is written `${!`.
"""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Dict, Sequence

from determined_deploy.cloud.options import ClusterOptions
from determined_deploy.cloud.wheel import Keys

_SCRIPT = """\
#!/bin/bash
# Makes this machine the master of the cluster ${cluster_id}. Runs at each start.
# Another certificate is another script, and so a restart: %(certificate)s
set -euo pipefail
umask 077
trap 'echo "determined: line $LINENO failed"' ERR
export DEBIAN_FRONTEND=noninteractive
root="${!DETERMINED_ROOT:-}"
place="$root/opt/determined"
settings="$root/etc/determined"
data="$root/var/lib/determined"
if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
  echo "determined: installing Python's venv"
  apt-get update -q
  apt-get install -q -y python3-venv
fi
mkdir -p "$settings" "$data"
chmod 755 "$data"
%(disk)s
echo "determined: installing the master"
if [ ! -x "$place/bin/python" ]; then (umask 022; python3 -m venv "$place"); fi
cat >"$settings/fetch.py" <<'END_OF_FETCH'
%(fetch)s
names = {"database": "DET_DB_PASSWORD", "initial_user": "DET_SECURITY_INITIAL_USER_PASSWORD"}
lines = [f"{n}={json.dumps(values[k])}" for k, n in names.items() if k in %(secrets)s]
(place / "secrets.env").write_text("\\n".join(lines) + "\\n")
for key, name in {"tls_cert": "tls.crt", "tls_key": "tls.key"}.items():
    if key in values:
        (place / name).write_text(values[key])
END_OF_FETCH
"$place/bin/python" "$settings/fetch.py" %(arguments)s \
  "$settings" || [ -s "$settings/secrets.env" ]
wheels="$place/wheels"
if [ "$(cat "$settings/installed" 2>/dev/null)" != '${files}' ]; then
  # They will run as root here. Only those that det deploy up has uploaded may.
  for each in ${files}; do
    file="$settings/$(basename "$each")"
    if ! echo "$(dirname "$each")  $file" | sha256sum --check --status; then
      rm -f "$file"
      echo "determined: $(basename "$each") in the bucket was changed: repeat det deploy up"
      exit 1
    fi
  done
  rm -rf "$wheels"
  options=(--quiet --require-hashes --only-binary :all:)
  if [ -n '${wheelhouse}' ]; then
    mkdir "$wheels"
    "$place/bin/python" -m tarfile --extract "$settings/$(basename '${wheelhouse}')" "$wheels"
    options+=(--no-index --find-links "$wheels")
  fi
  file="$settings/$(basename '${wheel}')"
  # The wheel has the versions and the hashes of what it needs.
  path="$file${!PYTHONPATH:+:$PYTHONPATH}"
  PYTHONPATH="$path" "$place/bin/python" -m determined_wire.locked %(extras)s \
    >"$settings/locked.txt"
  (umask 022; "$place/bin/pip" install "${!options[@]}" -r "$settings/locked.txt")
  (umask 022; "$place/bin/pip" install --quiet --no-index --no-deps --force-reinstall "$file")
  echo '${files}' >"$settings/installed"
fi
cat >"$settings/master.yaml" <<'END_OF_SETTINGS'
%(settings)s
END_OF_SETTINGS
cat >"$root/etc/systemd/system/determined-master.service" <<END_OF_UNIT
[Unit]
Description=Determined master
After=network-online.target
Wants=network-online.target
[Service]
EnvironmentFile=$settings/secrets.env
Environment=$(if [ -d "$wheels" ]; then echo "DET_WHEELHOUSE=$wheels"; fi)
ExecStart=$place/bin/determined-master --config-file $settings/master.yaml
NotifyAccess=main
Restart=always
RestartSec=5
KillMode=mixed
END_OF_UNIT
# Not enabled: at a later start the disk must be there first, and this script runs again.
systemctl daemon-reload
systemctl restart determined-master
%(after)s\
echo "determined: the master is started"
"""
_DISK = """\
%(find)s
if [ -z "$disk" ]; then echo "determined: the database's disk is not attached"; exit 1; fi
if ! mountpoint -q "$data"; then
  if [ -z "$(blkid -o value -s TYPE "$disk")" ]; then mkfs.ext4 -q "$disk"; fi
  mount "$disk" "$data"
fi
resize2fs "$disk" # it may have been made larger"""

_JOURNAL = """\
cat >"$root/etc/systemd/system/determined-journal.service" <<END_OF_UNIT
[Unit]
Description=The journal and the load of this machine to its cloud
[Service]
ExecStart=$place/bin/python -m determined_agent.journal %s
Restart=always
RestartSec=30
END_OF_UNIT
systemctl daemon-reload
systemctl restart determined-journal || echo "determined: the journal is not sent"
"""


@dataclasses.dataclass(frozen=True)
class CloudParts:
    """The parts of one cloud.

    `disk` leaves the path of the database's disk, or an empty text, in the variable `disk`; empty
    where the database is elsewhere. `fetch` is a Python program that gets `arguments` (shell
    words) and the directory of the settings: it stores the files there and leaves the members of
    the secret in `values` and the directory in `place`; it imports json. `secrets` are the members
    that the master gets as variables. `extras` are those of the wheel. `journal` are arguments of
    the service that sends the machine's journal; without them there is none.
    """

    disk: str
    fetch: str
    arguments: str
    secrets: Sequence[str]
    extras: Sequence[str]
    journal: str = ""


def files_of(keys: Keys) -> Dict[str, str]:
    """The variables that name the files in the bucket."""
    files = " ".join(key for key in keys if key)
    return {"wheel": keys.wheel, "wheelhouse": keys.wheelhouse, "files": files}


def placeholders(options: ClusterOptions) -> Keys:
    """Keys for what `up --dry-run` prints."""
    return Keys("KEY/determined.whl", "KEY/wheelhouse.tar" if options.wheelhouse else "")


def script(options: ClusterOptions, parts: CloudParts, settings: str) -> str:
    """The script, with variables that the cloud fills."""
    return _SCRIPT % {
        "certificate": hashlib.sha256(options.tls_cert.encode()).hexdigest()[:16],
        "disk": _DISK % {"find": parts.disk} if parts.disk else "",
        "fetch": parts.fetch.rstrip("\n"),
        "arguments": parts.arguments,
        "secrets": list(parts.secrets),
        "extras": " ".join(parts.extras),
        "after": _JOURNAL % parts.journal if parts.journal else "",
        "settings": settings.rstrip("\n"),
    }
