"""The script that makes a bare Ubuntu the master's machine, at each of its starts."""

from __future__ import annotations

from typing import Any, Dict

from determined.cli import errors
from determined.cli.deploy.aws import data, master_config
from determined.cli.deploy.aws.options import Options
from determined.cli.deploy.aws.secret import name_of
from determined.cli.deploy.cloud.boot import CloudParts, script
from determined.cli.deploy.cloud.wheel import locked

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
_FETCH = """\
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
done"""
_PREPARE = """\
if [ ! -e "$settings/installed" ]; then
  cat >"$settings/boto3.txt" <<'END_OF_LOCK'
%s
END_OF_LOCK
  (umask 022; "$place/bin/pip" install --quiet --require-hashes --only-binary :all: \
    -r "$settings/boto3.txt")
fi"""
_JOURNAL = "cloudwatch --group ${log_group} --stream master --region ${AWS::Region}"
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
    settings = master_config.template_of(options)
    if len(settings) > MAX_BYTES // 2:
        raise errors.CliError(
            f"--master-config-template-path: {len(settings)} characters are too many for a "
            f"machine's user data: at most {MAX_BYTES // 2}"
        )
    parts = CloudParts(
        disk="" if options.has_rds else _DISK,
        # The wheel, which has the whole list, is fetched by boto3.
        prepare=_PREPARE % locked("aws").rstrip("\n"),
        fetch=_FETCH,
        arguments="'${AWS::Region}' '${bucket}' '${wheel}' '${secret}'",
        secrets=["database", "initial_user"] if options.has_rds else ["initial_user"],
        extras=["master", "aws", "storage"],
        journal=_JOURNAL if options.log_group else "",
    )
    # Only what CloudFormation fills in may look like a variable of it.
    text = script(options, parts, settings)
    more = {"wheel": wheel, "bucket": {"Ref": data.BUCKET}, "secret": name_of(options.cluster_id)}
    return {"Fn::Base64": {"Fn::Sub": [_MANY + text + _END, {**values, **more}]}}
