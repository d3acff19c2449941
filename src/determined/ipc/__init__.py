"""Messages between the processes of one task."""

from determined.ipc._broadcast import BroadcastClient, BroadcastServer
from determined.ipc._channel import NotAuthentic, PeerGone
from determined.ipc._pid_client import PIDClient
from determined.ipc._pid_server import PIDServer, read_pid_server_addr

ZMQBroadcastServer = BroadcastServer
ZMQBroadcastClient = BroadcastClient

__all__ = [
    "BroadcastClient",
    "BroadcastServer",
    "NotAuthentic",
    "PIDClient",
    "PIDServer",
    "PeerGone",
    "ZMQBroadcastClient",
    "ZMQBroadcastServer",
    "read_pid_server_addr",
]
