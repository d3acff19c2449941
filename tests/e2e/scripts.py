"""Training scripts that tests submit."""

import socket

from tests.e2e.cluster import until

LEDGER = '''
"""Reports and saves; writes a line to a ledger after each of them has returned."""
import json, os, pathlib, time
import determined as det
from determined import core

info = det.get_cluster_info()
ledger = pathlib.Path(os.environ["LEDGER"]) / f"{info.trial.trial_id}.jsonl"
last = int(os.environ.get("STEPS", "16"))

def note(**what):
    with ledger.open("a") as file:
        file.write(json.dumps({"run": int(os.environ["DET_TRIAL_RUN_ID"]), **what}) + "\\n")
        file.flush()
        os.fsync(file.fileno())

with core.init() as context:
    start = 0
    if info.latest_checkpoint:
        with context.checkpoint.restore_path(info.latest_checkpoint) as path:
            start = int((path / "step").read_text())
    quality = info.trial.hparams["quality"]
    note(started=start)
    for step in range(start + 1, last + 1):
        time.sleep(float(os.environ.get("STEP_S", "0")))  # stands for the training
        value = quality + 1.0 / step
        context.train.report_training_metrics(step, {"loss": value})
        context.train.report_validation_metrics(step, {"loss": value, "epochs": step})
        note(reported=step, value=value)
        is_to_leave = context.preempt.should_preempt()
        if step % 4 == 0 or is_to_leave:
            with context.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
                (path / "step").write_text(str(step))
            note(saved=step, uuid=uuid)
        if is_to_leave:
            break
'''

WAITS = '''
"""Trains until it is asked to leave, then saves and leaves."""
import os, time
import determined as det
from determined import core

info = det.get_cluster_info()
with core.init() as context:
    print("resumed from", info.latest_checkpoint, flush=True)
    step = int(os.environ["DET_STEPS_COMPLETED"])
    while True:
        step += 1
        context.train.report_validation_metrics(step, {"loss": 1.0 / step})
        if info.latest_checkpoint or context.preempt.should_preempt():
            with context.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
                (path / "step").write_text(str(step))
            break
        time.sleep(0.05)
'''

RANKS = '''
"""Two ranks meet and exchange what they know."""
import determined as det
from determined import core

info = det.get_cluster_info()
distributed = core.DistributedContext.from_torch_distributed()
with core.init(distributed=distributed) as context:
    everybody = context.distributed.allgather([context.distributed.rank, info.container_rank])
    print("gathered", everybody, len(info.container_addrs), flush=True)
    if context.distributed.rank == 0:
        context.train.report_validation_metrics(1, {"loss": 0.5})
'''

SERVES = '''
"""Serves HTTP, WebSocket and TCP at three ports until it is to leave."""
import os, socketserver, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from determined import core
from websockets.sync.server import serve

class Pages(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        own = "Authorization" in self.headers or "auth=" in self.headers.get("Cookie", "")
        self._answer(f"{self.path} {own}".encode())
    def do_POST(self):
        self._answer(self.rfile.read(int(self.headers["Content-Length"])).upper())
    def _answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words):
        pass

class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(65536):
            self.request.sendall(data.upper())
            if data.endswith(b"."):
                break

def shout(socket):
    for message in socket:
        socket.send(message.upper())

pages, sockets, raw = (int(port) for port in os.environ["PORTS"].split())
servers = [
    ThreadingHTTPServer(("0.0.0.0", pages), Pages),
    serve(shout, "0.0.0.0", sockets),
    socketserver.ThreadingTCPServer(("0.0.0.0", raw), Echo),
]
for server in servers:
    threading.Thread(target=server.serve_forever, daemon=True).start()
print("serving", flush=True)
with core.init() as context:
    while not context.preempt.should_preempt():
        time.sleep(0.02)
'''

ANSWERS_ONCE = """
import os, socket
with socket.create_server(("0.0.0.0", int(os.environ["PORT"]))) as server:
    done = False
    while not done:
        client, _ = server.accept()
        with client:
            heard = client.recv(100)
            client.sendall(heard.upper())
            done = heard == b"hello."
"""


def answered(port: int) -> None:
    """Ask such a script at a port of this machine until it answers."""

    def asks() -> bool:
        try:
            with socket.create_connection(("127.0.0.1", port), 10) as script:
                script.sendall(b"hello.")
                return script.recv(100) == b"HELLO."
        except OSError:
            return False

    until(asks, what=f"an answer at port {port}")
