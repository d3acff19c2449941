"""The script that makes a bare Ubuntu the master's machine, at each of its starts."""

from __future__ import annotations

import hashlib
from typing import Any, Dict

from determined.cli import errors
from determined.cli.deploy.aws import data, master_config
from determined.cli.deploy.aws.options import Options
from determined.cli.deploy.aws.secret import name_of

MAX_BYTES = 16_384
"""Of user data, as AWS bounds it."""
_MANY = """\
Content-Type: multipart/mixed; boundary="determined"
MIME-Version: 1.0

--determined
Content-Type: text/cloud-config; charset="us-ascii"

#cloud-config
cloud_final_modules:
- [scripts-user, always]

--determined
Content-Type: text/x-shellscript; charset="utf-8"

"""
"""By default cloud-init runs a script at the first start alone. An upgrade is another script and a
restart."""
SCRIPT = """\
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
if [ ! -e "$settings/installed" ]; then
  (umask 022; "$place/bin/pip" install --quiet boto3)
fi
cat >"$settings/fetch.py" <<'END_OF_FETCH'
import json, pathlib, sys, time
import boto3, botocore.exceptions
region, bucket, wheel, secret, place = sys.argv[1:]
place = pathlib.Path(place)
s3 = boto3.client("s3", region_name=region)
known = place / "installed"
is_there = known.exists() and known.read_text().strip() == wheel
# `det deploy aws up` uploads it while this machine boots.
for pause in [] if is_there else [5.0] * 120 + [0.0]:
    try:
        s3.download_file(bucket, "deploy/" + wheel, str(place / wheel.rpartition("/")[2]))
        break
    except botocore.exceptions.ClientError as error:
        if not pause:
            sys.exit(f"determined: no {wheel} in {bucket}: {error}")
        time.sleep(pause)
found = boto3.client("secretsmanager", region_name=region).get_secret_value(SecretId=secret)
values = json.loads(found["SecretString"])
names = {"database": "DET_DB_PASSWORD", "initial_user": "DET_SECURITY_INITIAL_USER_PASSWORD"}
lines = [f"{n}={json.dumps(values[k])}" for k, n in names.items() if k in %(secrets)s]
(place / "secrets.env").write_text("\\n".join(lines) + "\\n")
for key, name in {"tls_cert": "tls.crt", "tls_key": "tls.key"}.items():
    if key in values:
        (place / name).write_text(values[key])
END_OF_FETCH
"$place/bin/python" "$settings/fetch.py" '${AWS::Region}' '${bucket}' '${wheel}' '${secret}' \
  "$settings" || [ -s "$settings/secrets.env" ]
if [ "$(cat "$settings/installed" 2>/dev/null)" != '${wheel}' ]; then
  file="$settings/$(basename '${wheel}')"
  (umask 022; "$place/bin/pip" install --quiet --upgrade --force-reinstall --no-deps "$file")
  (umask 022; "$place/bin/pip" install --quiet "determined[master,aws,storage] @ file://$file")
  echo '${wheel}' >"$settings/installed"
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
ExecStart=$place/bin/determined-master --config-file $settings/master.yaml
Restart=always
RestartSec=5
KillMode=mixed
END_OF_UNIT
# Not enabled: at a later start the disk must be there first, and this script runs again.
systemctl daemon-reload
systemctl restart determined-master
echo "determined: the master is started"
"""
_DISK = """\
# The one without parts that no reboot empties.
disk=
for pause in $(seq 120); do
  for each in $(lsblk -dnpo NAME,MODEL,TYPE | grep -v "Instance Storage" |
    awk '$NF == "disk" { print $1 }'); do
    if [ "$(lsblk -n "$each" | wc -l)" = 1 ]; then disk=$each; fi
  done
  if [ -n "$disk" ]; then break; fi
  sleep 5
done
if [ -z "$disk" ]; then echo "determined: the database's disk is not attached"; exit 1; fi
if ! mountpoint -q "$data"; then
  if [ -z "$(blkid -o value -s TYPE "$disk")" ]; then mkfs.ext4 -q "$disk"; fi
  mount "$disk" "$data"
fi"""
_END = "\n--determined--\n"


def user_data(options: Options, wheel: str, values: Dict[str, Any]) -> Dict[str, Any]:
    """The user data of the master's instance, as CloudFormation takes it.

    Args:
        options: the cluster.
        wheel: where the wheel will lie in the bucket.
        values: what the configuration's variables stand for.

    Raises:
        CliError: the configuration is too long.
    """
    disk = "" if options.has_rds else _DISK
    secrets = ["database", "initial_user"] if options.has_rds else ["initial_user"]
    settings = master_config.template_of(options)
    if len(settings) > MAX_BYTES // 2:
        raise errors.CliError(
            f"--master-config-template-path: {len(settings)} characters are too many for a "
            f"machine's user data: at most {MAX_BYTES // 2}"
        )
    # Only what CloudFormation fills in may look like a variable of it.
    script = SCRIPT % {
        "certificate": hashlib.sha256(options.tls_cert.encode()).hexdigest()[:16],
        "disk": disk,
        "secrets": secrets,
        "settings": settings.rstrip("\n"),
    }
    more = {"wheel": wheel, "bucket": {"Ref": data.BUCKET}, "secret": name_of(options.cluster_id)}
    return {"Fn::Base64": {"Fn::Sub": [_MANY + script + _END, {**values, **more}]}}
