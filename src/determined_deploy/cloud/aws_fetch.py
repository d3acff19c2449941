"""Fetches the files of a master's machine, and its secret, with the rights of the machine.

The machine runs this text before it has installed anything: only the standard library is used.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import pathlib
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

_ROLES = "meta-data/iam/security-credentials/"
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


def ask_machine(path: str, method: str = "GET", headers: Any = None) -> str:
    """An answer of the machine's metadata service."""
    base = os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") or "http://169.254.169.254"
    url = base.rstrip("/") + "/latest/" + path
    request = urllib.request.Request(url, method=method, headers=headers or {})
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(request, timeout=30) as answer:
        return str(answer.read(), "utf-8")


def credentials() -> Any:
    """Key, its secret, and the token of the session."""
    if os.environ.get(_KEYS[0]):
        return [os.environ.get(name, "") for name in _KEYS]
    token = ask_machine("api/token", "PUT", {"X-aws-ec2-metadata-token-ttl-seconds": "300"})
    headers = {"X-aws-ec2-metadata-token": token}
    role = ask_machine(_ROLES, headers=headers).split()[0]
    values = json.loads(ask_machine(_ROLES + role, headers=headers))
    return values["AccessKeyId"], values["SecretAccessKey"], values["Token"]


def sign(request: Any, region: str, service: str, keys: Any, now: str) -> None:
    """Add the headers that prove who asks (AWS Signature Version 4)."""
    key, secret, token = keys
    url = urllib.parse.urlsplit(request.full_url)
    digest = hashlib.sha256(request.data or b"").hexdigest()
    headers = {name.lower(): value for name, value in request.header_items()}
    headers.update({"host": url.netloc, "x-amz-content-sha256": digest, "x-amz-date": now})
    if token:
        headers["x-amz-security-token"] = token
    names = ";".join(sorted(headers))
    lines = [f"{name}:{headers[name]}" for name in sorted(headers)]
    parts = [request.get_method(), url.path, url.query, *lines, "", names, digest]
    request_digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    scope = f"{now[:8]}/{region}/{service}/aws4_request"
    signature = ("AWS4" + secret).encode()
    for part in (*scope.split("/"), f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{request_digest}"):
        signature = hmac.new(signature, part.encode(), hashlib.sha256).digest()
    headers["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={key}/{scope}, SignedHeaders={names}, "
        f"Signature={signature.hex()}"
    )
    for name, value in headers.items():
        request.add_header(name, value)


def call(region: str, service: str, url: str, data: Any = None, headers: Any = None) -> Any:
    """The answer of a service, asked for ten minutes: up may not have uploaded a file yet."""
    for attempt in range(120, -1, -1):
        try:
            request = urllib.request.Request(url, data, headers or {})
            now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
            sign(request, region, service, credentials(), now)
            with urllib.request.urlopen(request, timeout=300) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            reason = f"{error} {error.read(500).decode(errors='replace')}"
        except OSError as error:
            reason = str(error)
        if not attempt:
            sys.exit(f"determined: no answer for {url}: {reason}")
        if attempt % 12 == 0:
            print(f"determined: waiting for {url}: {reason}", flush=True)
        time.sleep(5.0)


def fetch(region: str, suffix: str, bucket: str, files: str, secret: str, to: str) -> Any:
    """Store the files that are not installed; the members of the secret, and the directory."""
    place = pathlib.Path(to)
    base = os.environ.get("AWS_ENDPOINT_URL", "").rstrip("/")
    store = f"{base}/{bucket}" if base else f"https://{bucket}.s3.{region}.{suffix}"
    installed = place / "installed"
    is_there = installed.exists() and installed.read_text().strip() == files
    for each in [] if is_there else files.split():
        content = call(region, "s3", f"{store}/deploy/{urllib.parse.quote(each)}")
        (place / each.rpartition("/")[2]).write_bytes(content)
    headers = {
        "Content-Type": "application/x-amz-json-1.1",
        "X-Amz-Target": "secretsmanager.GetSecretValue",
    }
    url = f"{base or f'https://secretsmanager.{region}.{suffix}'}/"
    query = json.dumps({"SecretId": secret}).encode()
    answer = json.loads(call(region, "secretsmanager", url, query, headers))
    return json.loads(answer["SecretString"]), place
