"""The start script of the master's machine on GCP."""

from __future__ import annotations

from determined.cli import errors
from determined_deploy.cloud.boot import CloudParts, files_of, script
from determined_deploy.cloud.master_config import filled
from determined_deploy.cloud.wheel import Keys
from determined_deploy.gcp import names
from determined_deploy.gcp.options import GcpOptions
from determined_deploy.gcp.resources import master_config

MAX_BYTES = 256_000
"""Of one value of metadata, as GCP bounds it (256 KB)."""
DISK = "database"
"""The name of the database's disk inside of the machine."""
EXTRAS = ("base", "master", "gcp", "storage")
"""Of the master's machine."""
_DISK = f"""\
disk=
for pause in $(seq 120); do
  if [ -e "$root/dev/disk/by-id/google-{DISK}" ]; then
    disk="$root/dev/disk/by-id/google-{DISK}"
    break
  fi
  sleep 5
done"""
_FETCH = """\
import base64, json, os, pathlib, sys, time, urllib.error, urllib.parse, urllib.request
project, bucket, files, secret, place = sys.argv[1:]
place = pathlib.Path(place)
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
host = os.environ.get("GCE_METADATA_HOST") or "metadata.google.internal"
item = f"http://{host}/computeMetadata/v1/instance/service-accounts/default/token"
asked = urllib.request.Request(item, headers={"Metadata-Flavor": "Google"})
with direct.open(asked, timeout=30) as answer:
    token = json.load(answer)["access_token"]
def read(service, path):
    given = os.environ.get("CLOUDSDK_API_ENDPOINT_OVERRIDES_" + service.upper())
    version = "storage/v1" if service == "storage" else "v1"
    base = (given or f"https://{service}.googleapis.com/{version}").rstrip("/")
    asked = urllib.request.Request(base + path, headers={"Authorization": "Bearer " + token})
    # A new right is not known everywhere for some minutes.
    for attempt in range(300, -1, -1):
        try:
            with urllib.request.urlopen(asked, timeout=300) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            said = f"determined: GCP refused {path}: {error} {error.read(500).decode()}"
            if not attempt or error.code not in (403, 404, 429, 500, 502, 503):
                sys.exit(said)
        except OSError as error:
            said = f"determined: GCP does not answer {path}: {error}"
            if not attempt:
                sys.exit(said)
        if attempt % 30 == 0:
            print(said, flush=True)
        time.sleep(2.0)
known = place / "installed"
is_there = known.exists() and known.read_text().strip() == files
for each in [] if is_there else files.split():
    name = urllib.parse.quote("deploy/" + each, safe="")
    content = read("storage", f"/b/{bucket}/o/{name}?alt=media")
    (place / each.rpartition("/")[2]).write_bytes(content)
found = read("secretmanager", f"/projects/{project}/secrets/{secret}/versions/latest:access")
values = json.loads(base64.b64decode(json.loads(found)["payload"]["data"]))"""


def start_script(options: GcpOptions, project: str, subnetwork: str, keys: Keys) -> str:
    """The script, which GCP runs at each start of the machine.

    Args:
        options: the cluster.
        project: its id.
        subnetwork: the path of the subnetwork of all machines.
        keys: where the files lie in the bucket.

    Raises:
        CliError: the configuration is too long.
    """
    values = {
        **master_config.values(options, project, subnetwork),
        **files_of(keys),
        "secret": names.of_cluster(options.cluster_id),
    }
    parts = CloudParts(
        disk=_DISK,
        fetch=_FETCH,
        arguments="'${project}' '${bucket}' '${files}' '${secret}'",
        secrets=["initial_user"],
        extras=EXTRAS,
        journal="google" if options.cloud_logging else "",
    )
    text = filled(script(options, parts, master_config.template_of(options)), values)
    if len(text.encode()) > MAX_BYTES:
        raise errors.CliError(
            f"--master-config-template-path: the start script of the master has "
            f"{len(text.encode())} bytes with it, and GCP takes {MAX_BYTES}: shorten the template"
        )
    return text
