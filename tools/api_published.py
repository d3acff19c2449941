"""Generates the table of the names that `determined.common.api.bindings` of 0.38.1 exports.

The names follow two rules: `v1` and the message's own name, with the package before it where
several packages use the name; and without `v1` for some nested ones.
"""

from __future__ import annotations

import os

from tools.api_model import (
    HEADER,
    Endpoint,
    Field,
    Model,
    camel_case,
    function_name,
    path_parameters,
)

AMBIGUOUS = {"checkpoint.v1.SortBy", "device.v1.Type", "job.v1.Type", "trial.v1.Trial"}
WITHOUT_VERSION = {
    "api.v1.GetMasterResponse.Product",
    "api.v1.GetTrialWorkloadsRequest.FilterOption",
    "checkpoint.v1.PatchCheckpoint.OptionalResources",
    "experiment.v1.PatchExperiment.PatchCheckpointStorage",
    "experiment.v1.PatchExperiment.PatchResources",
    "task.v1.ResourcesSummary.Devices",
    "trial.v1.TrialProfilerMetricLabels.ProfilerMetricType",
}
REQUIRED_IN_QUERIES = {
    "get_ExpMetricNames": "ids",
    "get_GetMetrics": "group trialIds",
    "get_MetricBatches": "metricName",
    "get_ResourceAllocationAggregated": "endDate period startDate",
    "get_ResourceAllocationRaw": "timestampAfter timestampBefore",
    "get_TrialsSample": "metricName",
    "get_TrialsSnapshot": "batchesProcessed metricName",
}
"""Parameters of queries that have no default."""
WORDS = {
    "bool": "bool",
    "int32": "int",
    "uint32": "int",
    "float": "float",
    "double": "float",
    "google.Struct": "dict",
    "google.ListValue": "[str]",
    "google.Value": "any",
    "google.FieldMask": "protobufFieldMask",
    "google.BoolValue": "bool",
    "google.Int32Value": "int",
    "google.DoubleValue": "float",
}
"""Kind of a field -> word for its type; others, 64-bit numbers too, are text."""
FIXED_ENUMS = {"HealthStatus": ("", "up down"), "protobufNullValue": ("", "NULL_VALUE")}
FIXED_MESSAGES = {
    "HealthCheck": "? database:HealthStatus resource_managers:[ResourceManagerHealth]"
    " status:HealthStatus",
    "ResourceManagerHealth": "? cluster_name:str status:HealthStatus",
    "protobufAny": "? typeUrl:str value:str",
    "protobufFieldMask": "? paths:[str]",
    "runtimeError": "? code:int details:[protobufAny] error:str message:str",
    "runtimeStreamError": "? details:[protobufAny] grpcCode:int httpCode:int httpStatus:str"
    " message:str",
}
FIXED_CALLS = {"get_health": "GET /health HealthCheck ?"}
"""Shapes of routes, and of the gateway of 0.38.1, that its definition of the API does not have."""


def table(model: Model) -> str:
    """Text of `rest/published.py`."""
    writer = _Writer(model)
    calls = {function_name(e): writer.call(e) for e in model.endpoints} | FIXED_CALLS
    enums, messages = writer.reached()
    paginated = " ".join(
        name for name, fields in messages.items() if " pagination:v1Pagination" in f" {fields}"
    )
    lines = [
        HEADER.format(doc="Names, fields and calls of the bindings of 0.38.1."),
        "from __future__ import annotations",
        "",
        *_mapping("ENUMS", enums | FIXED_ENUMS),
        *_mapping("MESSAGES", messages | FIXED_MESSAGES),
        *_mapping("CALLS", calls),
        f'PAGINATED = "{paginated}"',
    ]
    return "\n".join(lines) + "\n"


def published_name(model: Model, full_name: str) -> str:
    """`experiment.v1.State` -> `experimentv1State`, `user.v1.User` -> `v1User`."""
    package, _, rest = full_name.partition(".v1.")
    if full_name in WITHOUT_VERSION:
        return rest.replace(".", "")
    if rest == "State" or full_name in AMBIGUOUS:
        return f"{package}v1{rest}"
    return "v1" + rest.replace(".", "")


class _Writer:
    """Writes calls, and collects the messages and enums that they need."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.names: set[str] = set()

    def reached(self) -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
        """The enums and messages of all calls that were written, and of their fields."""
        enums: dict[str, tuple[str, str]] = {}
        messages: dict[str, str] = {}
        open_names = sorted(self.names)
        while open_names:
            full_name = open_names.pop()
            name = published_name(self.model, full_name)
            if name in enums or name in messages:
                continue
            if full_name in self.model.enums:
                enums[name] = _members(self.model.enums[full_name].members)
                continue
            message = self.model.messages[full_name]
            required = {camel_case(n) for n in message.required}
            messages[name] = self._fields(
                [f for f in message.fields if f.json_name in required],
                [f for f in message.fields if f.json_name not in required],
            )
            open_names += [f.target for f in message.fields if f.target]
        return dict(sorted(enums.items())), dict(sorted(messages.items()))

    def call(self, endpoint: Endpoint) -> str:
        """`GET /api/v1/users/{userId} v1GetUserResponse userId:int ?`."""
        path, required = endpoint.path, []
        in_path = path_parameters(endpoint.path)
        for parameter in in_path:
            argument = "_".join(camel_case(part) for part in parameter.split("."))
            path = path.replace("{" + parameter + "}", "{" + argument + "}")
            required.append(f"{argument}:{self._word(self._path_field(endpoint, parameter))}")
        optional: list[str] = []
        if endpoint.body:
            required.append(f"body:{self._body(endpoint)}")
        else:
            needed = REQUIRED_IN_QUERIES.get(function_name(endpoint), "").split()
            for field in self.model.messages[endpoint.request].fields:
                for argument, word in self._query(field, ""):
                    is_known = argument in {r.split(":")[0] for r in required}
                    if not is_known:
                        words = required if argument in needed else optional
                        words.append(f"{argument}:{word}")
        answer = self._answer(endpoint)
        return " ".join([endpoint.method, path, answer, *sorted(required), "?", *sorted(optional)])

    def _answer(self, endpoint: Endpoint) -> str:
        if not self.model.messages[endpoint.response].fields:
            return "None"
        self.names.add(endpoint.response)
        name = published_name(self.model, endpoint.response)
        return f"[{name}]" if endpoint.is_stream else name

    def _body(self, endpoint: Endpoint) -> str:
        if endpoint.body == "*":
            self.names.add(endpoint.request)
            return published_name(self.model, endpoint.request)
        fields = self.model.messages[endpoint.request].fields
        return self._word(next(f for f in fields if f.name == endpoint.body))

    def _path_field(self, endpoint: Endpoint, parameter: str) -> Field:
        message = self.model.messages[endpoint.request]
        *parents, last = parameter.split(".")
        for parent in parents:
            target = next(f.target for f in message.fields if f.name == parent)
            message = self.model.messages[target]
        return next(f for f in message.fields if f.json_name == camel_case(last))

    def _query(self, field: Field, prefix: str) -> list[tuple[str, str]]:
        """A field as parameters; those of a nested message are joined by `_`."""
        name = prefix + field.json_name
        if field.kind != "message":
            return [(name, self._word(field))]
        self.names.add(field.target)
        nested = self.model.messages[field.target].fields
        return [pair for inner in nested for pair in self._query(inner, f"{name}_")]

    def _fields(self, required: list[Field], optional: list[Field]) -> str:
        first, last = (
            " ".join(f"{f.json_name}:{self._word(f)}" for f in sorted(fields, key=_json_name))
            for fields in (required, optional)
        )
        return f"{first} ? {last}".strip()

    def _word(self, field: Field) -> str:
        word = WORDS.get(field.kind, "str")
        if field.target:
            self.names.add(field.target)
            word = published_name(self.model, field.target)
        return {"list": f"[{word}]", "map": f"{{{word}}}"}.get(field.container, word)


def _members(members: tuple[tuple[str, int], ...]) -> tuple[str, str]:
    names = [name for name, _ in members]
    prefix = os.path.commonprefix(names)  # noqa: RUF071 - these are no paths
    prefix = prefix if prefix.endswith("_") else ""
    return prefix, " ".join(name[len(prefix) :] for name in names)


def _json_name(field: Field) -> str:
    return field.json_name


def _mapping(name: str, rows: dict[str, str] | dict[str, tuple[str, str]]) -> list[str]:
    return [f"{name} = {{", *(f"    {key!r}: {row!r}," for key, row in sorted(rows.items())), "}"]
