"""Stand-ins for JupyterLab and TensorBoard, which this machine may lack: the pages are not theirs,
the way to them is the real one (agent, readiness, proxy, token)."""

from __future__ import annotations

import sys
from pathlib import Path

JUPYTER = """
import http.server, json, os, ssl, time

with open(os.path.join(os.environ["JUPYTER_CONFIG_DIR"], "jupyter_server_config.json")) as file:
    config = json.load(file)["ServerApp"]
print("the server is asleep", flush=True)
while not os.path.exists(os.environ["GATE"]):
    time.sleep(0.02)
PAGE = b'''<!doctype html><title>Lab</title><h1>Notebook is served</h1><p id="cookies"></p>
<script>
  document.getElementById("cookies").textContent = "cookies: [" + document.cookie + "]";
  parent.postMessage({ type: "navigate", to: "/det/logout" }, "*");
  try { top.location = "/det/logout"; } catch { document.title = "kept out"; }
</script>'''

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"[]" if "/api" in self.path else PAGE
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

server = http.server.ThreadingHTTPServer(("0.0.0.0", config["port"]), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(config["certfile"], config["keyfile"])
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""
TENSORBOARD = """
import http.server, os, sys

options = dict(each[2:].split("=", 1) for each in sys.argv[1:] if "=" in each)
runs = sorted(
    os.path.basename(folder)
    for folder, _, files in os.walk(options["logdir"], followlinks=True)
    if any("tfevents" in name for name in files)
)

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = f"<!doctype html><title>Board</title><h1>Board of {len(runs)} runs</h1>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

http.server.ThreadingHTTPServer(("127.0.0.1", int(options["port"])), Handler).serve_forever()
"""


def install(directory: Path) -> str:
    """Make both programs; a PATH on which they are found."""
    directory.mkdir(mode=0o755)
    for name, text in (("jupyter-lab", JUPYTER), ("tensorboard", TENSORBOARD)):
        path = directory / name
        path.write_text(f"#!{sys.executable}\n{text}")
        path.chmod(0o755)
    return f"{directory}:/usr/local/bin:/usr/bin:/bin"
