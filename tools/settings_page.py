"""The page of all settings of master and agent, made from their definitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import inspect

from determined_agent.settings import options as agent
from determined_master.domain.config.layers import TASK_CONTAINER_DEFAULTS
from determined_master.settings.master import Settings
from determined_master.settings.pools import ResourcePool
from determined_master.settings.providers.kinds import PROVIDERS
from determined_master.settings.providers.provider import Provider
from determined_wire.settings_options import Option, options

HEAD = """\
# Settings

Made by `tools/generate_docs.py` from the definitions of the options; do not edit.

A flag wins over a variable, a variable over the file, the file over the default. The files are
YAML: the option `db.host` of the master is `db: {host: ...}` in `/etc/determined/master.yaml`,
the variable `DET_DB_HOST` and the flag `--db-host`. An option without a flag can only be given in
the file. A name that nobody knows, a value that cannot be used and an option that this version
does not have are errors at start, all told at once; one that does nothing here is a warning.
"""


COLUMNS = ("| option | type | default | meaning | flag | variable |", "|---|---|---|---|---|---|")
FILE_COLUMNS = ("| option | type | default | meaning |", "|---|---|---|---|")
NO_EFFECT = "Read for the sake of older files; nothing in this version uses it."
_POOL = {
    "description": "Shown to users.",
    "agent_reconnect_wait": "How long a lost agent may take to come back.",
}


def settings_page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_master(), "", *_agent()]) + "\n"


def _master() -> Iterator[str]:
    yield from ("## Master", "", *COLUMNS)
    for option in options(Settings):
        flag = variable = ""
        if option.is_scalar:
            flag, variable = f"`{option.flag}`", f"`{option.variable}`"
        cells = (
            f"`{'.'.join(option.path)}`",
            _type(option),
            _default(option.default),
            option.doc or NO_EFFECT,
            flag,
            variable,
        )
        yield _row(cells)
    yield from ("", "### Each of `resource_pools`", "", *FILE_COLUMNS)
    for option in options(ResourcePool):
        yield _file_row(option, option.doc or _POOL.get(option.path[0], NO_EFFECT))
    for name, chosen in PROVIDERS.items():
        yield from ("", f"### `resource_pools[].provider` of type {name}", "", *FILE_COLUMNS)
        for option in list(options(chosen.settings))[len(list(options(Provider))) :]:
            yield _file_row(option, option.doc)
    yield from (
        "",
        "### Each of `additional_resource_managers`",
        "",
        "`resource_manager` with the options of `type: kubernetes` above (`cluster_name` and",
        "`max_slots_per_pod` are needed), and `resource_pools`, at least one.",
    )
    yield from ("", "### `task_container_defaults`, of the cluster and of each pool", "")
    yield from FILE_COLUMNS
    for name, field in TASK_CONTAINER_DEFAULTS.fields.items():
        doc = field.doc or "As in an experiment's configuration."
        yield _row((f"`{name}`", field.kind.noun, _default(field.default), doc))


def _agent() -> Iterator[str]:
    yield from ("## Agent", "", *COLUMNS)
    for option in options(agent.Settings):
        is_file_only = not option.is_scalar
        yield _row(
            (
                f"`{option.name}`",
                _type(option),
                _default(option.default),
                option.doc,
                "" if is_file_only else f"`{option.flag}`",
                "" if is_file_only else f"`{option.variable}`",
            )
        )
    yield ""
    yield "Options of older agents that are refused:"
    yield ""
    for name, reason in agent.REFUSED.items():
        yield f"- `{name}`: {reason}"
    yield ""
    yield "Options of older agents that are read over, with a warning:"
    yield ""
    for name, reason in agent.IGNORED.items():
        yield f"- `{name}`: {reason}"


def _file_row(option: Option, doc: str) -> str:
    """A row of an option that only the file can give."""
    default = f"`{option.default:g}s`" if "noun" in option.extra else _default(option.default)
    return _row((f"`{'.'.join(option.path)}`", _type(option), default, doc))


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"


def _type(option: Option) -> str:
    if option.extra.get("noun"):
        return str(option.extra["noun"])
    match option.type:
        case inspect.BoolType():
            return "bool"
        case inspect.IntType():
            return "int"
        case inspect.FloatType():
            return "number"
        case inspect.LiteralType():
            return " \\| ".join(option.words)
        case inspect.VarTupleType():
            return "list"
        case inspect.DictType():
            return "map"
        case _:
            return "text"


def _default(default: Any) -> str:
    if default in (None, "", (), {}) or not isinstance(default, (bool, int, float, str)):
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"
