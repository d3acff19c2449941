"""The number of listeners that the definition of a Gateway allows."""

from __future__ import annotations

from typing import Any

import pytest

from determined_master.backends.kubernetes.client import (
    KubernetesApi,
    KubernetesRefused,
    KubernetesUnreachable,
)
from determined_master.backends.kubernetes.gateway.limits import SCHEMA, most_listeners

Json = dict[str, Any]


class Api(KubernetesApi):
    """Answers each call with a document or an error."""

    def __init__(self, answer: Json | Exception) -> None:
        self.answer = answer

    async def call(self, method: str, path: str, **more: Any) -> Json:
        assert (method, path, more) == ("GET", SCHEMA, {})
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def document(kind: str, listeners: Json) -> Json:
    spec = {"type": "object", "properties": {"listeners": {"type": "array", **listeners}}}
    of = [{"group": "gateway.networking.k8s.io", "kind": kind, "version": "v1"}]
    schema = {"properties": {"spec": spec}, "x-kubernetes-group-version-kind": of}
    other = {"properties": {"spec": {"properties": {"listeners": {"maxItems": 7}}}}}
    return {"components": {"schemas": {"io.k8s.other": other, "io.k8s.wanted": schema}}}


@pytest.mark.parametrize(
    ("answer", "most"),
    [
        (document("Gateway", {"maxItems": 500}), 500),
        (document("Gateway", {}), 64),
        (document("GatewayList", {"maxItems": 500}), 64),
        ({"components": None}, 64),
        (KubernetesRefused(404, "NotFound", "not found"), 64),
        (KubernetesUnreachable("broken"), 64),
    ],
)
async def test_the_definition_decides_and_64_where_it_is_not_read(
    answer: Json | Exception, most: int
) -> None:
    assert await most_listeners(Api(answer)) == most
