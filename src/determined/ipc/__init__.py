"""Messages between the processes of one task. Names are imported on first use."""

TYPE_CHECKING = False  # type checkers treat it as true; importing `typing` takes 10 ms

if TYPE_CHECKING:
    from determined.ipc._broadcast import BroadcastClient as BroadcastClient
    from determined.ipc._broadcast import BroadcastServer as BroadcastServer
    from determined.ipc._channel import NotAuthentic as NotAuthentic
    from determined.ipc._channel import PeerGone as PeerGone
    from determined.ipc._pid_client import PIDClient as PIDClient
    from determined.ipc._pid_server import PIDServer as PIDServer
    from determined.ipc._pid_server import read_pid_server_addr as read_pid_server_addr

    ZMQBroadcastClient = BroadcastClient
    ZMQBroadcastServer = BroadcastServer

_MODULE_OF = {
    "BroadcastClient": ("_broadcast", "BroadcastClient"),
    "BroadcastServer": ("_broadcast", "BroadcastServer"),
    "NotAuthentic": ("_channel", "NotAuthentic"),
    "PIDClient": ("_pid_client", "PIDClient"),
    "PIDServer": ("_pid_server", "PIDServer"),
    "PeerGone": ("_channel", "PeerGone"),
    "ZMQBroadcastClient": ("_broadcast", "BroadcastClient"),
    "ZMQBroadcastServer": ("_broadcast", "BroadcastServer"),
    "read_pid_server_addr": ("_pid_server", "read_pid_server_addr"),
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _MODULE_OF:
        raise AttributeError(f"module 'determined.ipc' has no attribute {name!r}")
    module, attribute = _MODULE_OF[name]
    return getattr(import_module(f"determined.ipc.{module}"), attribute)
