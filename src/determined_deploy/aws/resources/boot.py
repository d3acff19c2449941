"""The script that makes a bare Ubuntu the master's machine, at each of its starts."""

from __future__ import annotations

import base64
import json
import pathlib
import zlib
from typing import Any, Dict, List

from determined.cli import errors
from determined_deploy.aws.options import Options
from determined_deploy.aws.resources import data, master_config
from determined_deploy.aws.secret import name_of
from determined_deploy.cloud import aws_fetch
from determined_deploy.cloud.boot import CloudParts, files_of, script
from determined_deploy.cloud.master_config import VARIABLE
from determined_deploy.cloud.wheel import Keys

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
_FETCH = "\nvalues, place = fetch(*sys.argv[1:])\n"
EXTRAS = ("base", "master", "aws", "storage")
"""Of the master's machine."""
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
_JOURNAL = "cloudwatch --group ${log_group} --stream master --region ${AWS::Region}"
_UNPACK = r"""#!/bin/bash
# Makes this machine the master of a cluster: unpacks the script, fills in what AWS has chosen, and
# runs it. At each start.
exec bash <(python3 -c '
import base64, re, sys, zlib
lines, _, packed = sys.stdin.read().partition("\n\n")
values = dict(line.split("=", 1) for line in lines.splitlines())
script = zlib.decompress(base64.b64decode(packed)).decode()
fill = lambda found: "\x24{%s}" % found[2] if found[1] else values[found[2]]
sys.stdout.write(re.sub(r"\x24\{(!?)([^}]*)\}", fill, script))
' <<'END'
"""
_REFERENCE_BYTES = 200
_END = "\n--determined--\n"


def user_data(options: Options, keys: Keys, values: Dict[str, Any]) -> Dict[str, Any]:
    """The user data of the master's instance, as CloudFormation takes it.

    Args:
        options: the cluster.
        keys: where the files will lie in the bucket.
        values: what the configuration's variables stand for.

    Raises:
        CliError: the configuration is too long.
    """
    parts = CloudParts(
        disk="" if options.has_rds else _DISK,
        fetch=pathlib.Path(aws_fetch.__file__).read_text() + _FETCH,
        arguments="'${AWS::Region}' '${AWS::URLSuffix}' '${bucket}' '${files}' '${secret}'",
        secrets=["database", "initial_user"] if options.has_rds else ["initial_user"],
        extras=EXTRAS,
        journal=_JOURNAL if options.log_group else "",
    )
    text = script(options, parts, master_config.template_of(options))
    more = {
        **files_of(keys),
        "bucket": {"Ref": data.BUCKET},
        "secret": name_of(options.cluster_id),
    }
    return {"Fn::Base64": {"Fn::Sub": _packed(text, {**values, **more})}}


def _packed(text: str, values: Dict[str, Any]) -> List[Any]:
    """User data that unpacks a script and runs it, and what CloudFormation fills in there.

    Raises:
        CliError: it is too long.
    """
    names = sorted(set(VARIABLE.findall(text)))
    lines = "".join(f"{name}=${{{name}}}\n" for name in names)
    packed = base64.encodebytes(zlib.compress(text.encode(), 9)).decode()
    whole = f"{_MANY}{_UNPACK}{lines}\n{packed}END\n)\n{_END}"
    variables = {name: values[name] for name in names if name in values}
    size = len(whole.encode()) + sum(map(_size, variables.values()))
    if size > MAX_BYTES:
        raise errors.CliError(
            f"the start script of the master has {size} bytes, packed, and AWS takes {MAX_BYTES}: "
            "shorten --master-config-template-path or leave out some --add-tag"
        )
    return [whole, variables]


def _size(value: Any) -> int:
    """About what a value has when it is filled in; a reference has at most some hundred bytes."""
    return len(json.dumps(value).encode()) + _REFERENCE_BYTES * (not isinstance(value, str))
