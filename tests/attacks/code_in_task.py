"""What an attacker runs in a task: prints one line for each harm that succeeded, then the count.

It needs the standard library alone: the model directory of an experiment holds it. `ATTACK` is
JSON with `requests`, each of them method, path, body and the name of the variable with its token;
`hello`, an agent's first message; `files`, paths; and `secret`, a variable of another task. That
is written backwards, because the task's own variables hold it too.
"""

import base64
import glob
import http.client
import json
import os
import socket
import struct
import urllib.parse

MASTER = urllib.parse.urlsplit(os.environ["DET_MASTER"])
assert MASTER.hostname is not None
assert MASTER.port is not None


def harm(*words):
    print("HARM", *words, flush=True)


def ask(method, path, body, token):
    """The status of an answer; 0 when there is none."""
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {os.environ[token]}"
    connection = http.client.HTTPConnection(MASTER.hostname, MASTER.port, timeout=60)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        answer.read(1000)
        return answer.status
    except OSError:
        return 0
    finally:
        connection.close()


def join(hello, token):
    """The kind of the master's first message to an agent that nobody started; '' for none."""
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [
        "GET /agents HTTP/1.1",
        f"Host: {MASTER.netloc}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {key}",
    ]
    if token:
        lines.append(f"Authorization: Bearer {os.environ[token]}")
    with socket.create_connection((MASTER.hostname, MASTER.port), 60) as link:
        link.sendall("\r\n".join([*lines, "", ""]).encode())
        with link.makefile("rb") as answer:
            if b" 101 " not in answer.readline():
                return ""
            while answer.readline().strip():
                pass
            text = json.dumps(hello).encode()
            mask = b"\0\0\0\0"
            link.sendall(b"\x82\xfe" + struct.pack(">H", len(text)) + mask + text)
            head = answer.read(2)
            if len(head) < 2 or head[0] & 15 == 8:
                return ""
            size = head[1] & 127
            if size == 126:
                [size] = struct.unpack(">H", answer.read(2))
            return json.loads(answer.read(size)).get("kind", "")


def main():
    attack = json.loads(os.environ["ATTACK"])
    tried = 0
    for method, path, body, token in attack["requests"]:
        status = ask(method, path, body, token)
        tried += status != 0
        if 200 <= status < 300:
            harm(status, method, path, "with", token or "no token")
    for token in ("", "DET_USER_TOKEN", "DET_SESSION_TOKEN"):
        kind = join(attack["hello"], token)
        tried += 1
        if kind not in ("", "refused"):
            harm("joined as an agent with", token or "no token", kind)
    for pattern in attack["files"]:
        for path in glob.glob(pattern):
            try:
                with open(path, "rb") as file:
                    content = file.read()
            except OSError:
                continue
            if path.startswith("/proc/") and attack["secret"][::-1].encode() not in content:
                continue
            harm("read", path)
    print("TRIED", tried, flush=True)


main()
