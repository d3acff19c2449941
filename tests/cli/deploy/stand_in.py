"""Stand-ins for the servers that `det deploy local` starts: `stand_in.py master|agent CONFIG`.

The master logs users in and lists the agents that have called it; its password file is written
at the first start, as the real one does. An agent calls its master until it answers and then
waits. `misbehave` in a config makes it exit with that code at once, `mute` never listen.
"""

from __future__ import annotations

import http.server
import json
import os
import pathlib
import sys
import threading
import time
import urllib.request

AGENTS: dict[str, dict] = {}
PASSWORD = "Initial1x"
PASSWORD_FILE: list[pathlib.Path] = []


def config_of(path: str) -> dict[str, str]:
    """Scalars of a JSON file, or a YAML file with two levels (inner ones as `outer.inner`)."""
    found, outer = {}, ""
    text = pathlib.Path(path).read_text()
    if text.startswith("{"):
        return json.loads(text)
    for line in text.splitlines():
        key, _, value = line.strip().partition(": ")
        if line.startswith("  "):
            key = outer + key
        elif line.endswith(":"):
            outer = line[:-1] + "."
        found[key] = value.strip("'\"")
    return found


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        pass

    def answer(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        if self.path == "/info":
            return self.answer(200, {})
        if self.headers.get("Authorization") != "Bearer token":
            return self.answer(401, {})
        if self.path == "/api/v1/agents":
            return self.answer(200, {"agents": list(AGENTS.values())})
        return self.answer(200, {"user": {"username": "determined"}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/join":
            AGENTS[body["id"]] = body
        elif self.path == "/api/v1/auth/login" and not is_password(body):
            return self.answer(401, {"error": {"reason": "invalid credentials"}})
        self.answer(200, {"token": "token"})


def is_password(body: dict[str, str]) -> bool:
    """Whether a login has the password of the first start."""
    from determined.common.api.authentication import salt_and_hash  # takes a while

    return body["password"] == salt_and_hash(PASSWORD_FILE[0].read_text())


def master(config: dict[str, str]) -> None:
    address = (config["host"], int(config["port"]))
    server = http.server.ThreadingHTTPServer(address, Handler)
    server.daemon_threads = True
    data = pathlib.Path(config["db.data_dir"])
    PASSWORD_FILE.append(data / "password")
    if not data.exists():
        data.mkdir()
        given = os.environ.get("DET_SECURITY_INITIAL_USER_PASSWORD")
        given = given or config.get("security.initial_user_password")
        (data / "password").write_text(given or PASSWORD)
        if not given:
            (data.parent / "initial-password").write_text(PASSWORD + "\n")
    print("master listens", flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def agent(config: dict[str, str]) -> None:
    url = f"http://{config['master_host']}:{config['master_port']}/join"
    body = json.dumps({"id": config["agent_id"], "slots": {"0": config["slot_type"]}}).encode()
    while True:
        try:
            with urllib.request.urlopen(urllib.request.Request(url, body), timeout=5):
                break
        except OSError:
            time.sleep(0.02)
    print("agent joined", flush=True)


if __name__ == "__main__":
    chosen = config_of(sys.argv[2])
    if "misbehave" in chosen:
        sys.exit(f"asked to end with {chosen['misbehave']}")
    if "mute" not in chosen:
        {"master": master, "agent": agent}[sys.argv[1]](chosen)
    while True:
        time.sleep(3600)
