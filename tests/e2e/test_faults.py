"""What goes wrong is told with the thing, its value and the remedy; and nothing is lost by it."""

from __future__ import annotations

import json
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from typing import Any

import pytest
import urllib3
from tests.e2e.cluster import PASSWORD, APIException, Cluster, until
from tests.e2e.conftest import running
from tests.e2e.faults import Held
from tests.e2e.proxy import LossyProxy
from tests.e2e.test_life import config

from determined.common.api import authentication
from determined_master.api.http.bodies import MAX_LARGE_BODY_BYTES

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture(scope="module")
def http() -> Any:
    with urllib3.PoolManager(maxsize=8) as made:
        yield made


def token_of(cluster: Cluster, user: str = "admin", password: str = PASSWORD) -> str:
    with authentication.login(cluster.address, user, password) as session:
        return str(session.token)


def create(cluster: Cluster, http: Any, key: str, **headers: str) -> Any:
    body = json.dumps({"config": json.dumps(config("true", name=key)), "activate": False})
    return http.request(
        "POST",
        f"http://127.0.0.1:{headers.pop('port', cluster.port)}/api/v1/experiments",
        body=body,
        headers={
            "Authorization": f"Bearer {cluster.session().token}",
            "Idempotency-Key": key,
            **headers,
        },
        retries=False,
        timeout=90,
    )


def named(cluster: Cluster, name: str) -> list[int]:
    found = cluster.get("/api/v1/experiments", name=name)["experiments"]
    return [e["id"] for e in found]


def test_every_mistake_of_a_configuration_is_listed_with_its_path(cluster: Cluster) -> None:
    wrong = config(
        searcher={"name": "single"},
        resources={"slots_per_trial": -1},
        max_restarts="many",
        hyperparameters={"lr": {"type": "log", "minval": -4, "base": 10}},
    )
    before = cluster.get("/api/v1/experiments", limit=-1)["pagination"]["total"]
    with pytest.raises(APIException) as refused:
        cluster.submit(wrong, {"t.py": ""})
    assert refused.value.status_code == 400
    text = str(refused.value)
    for path in ("searcher", "slots_per_trial", "max_restarts", "hyperparameters.lr"):
        assert path in text, text
    assert cluster.get("/api/v1/experiments", limit=-1)["pagination"]["total"] == before


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "unexpected EOF"),
        (b"[1]", "cannot unmarshal array"),
        (b'{"config": 5}', "cannot unmarshal number"),
        (b'{"config": "a: [1"}', "line 1"),
        (b"\xff\xfe", "not UTF-8: byte 0"),
    ],
    ids=["half", "a list", "a number", "half of YAML", "no UTF-8"],
)
def test_a_malformed_body_is_the_callers_mistake(
    cluster: Cluster, http: Any, body: bytes, said: str
) -> None:
    headers = {"Authorization": f"Bearer {cluster.session().token}"}
    answer = http.request(
        "POST", f"{cluster.address}/api/v1/experiments", body=body, headers=headers
    )
    assert answer.status == 400, answer.data
    error = answer.json()["error"]
    assert error["code"] == 3
    assert said in error["error"]


def test_an_oversize_body_is_refused_with_the_limit_before_it_is_sent(cluster: Cluster) -> None:
    head = (
        "POST /api/v1/experiments HTTP/1.1\r\nHost: m\r\nContent-Length: 1000000000\r\n"
        f"Authorization: Bearer {cluster.session().token}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", cluster.port), 60) as link:
        link.sendall(head.encode())
        answer = link.recv(65536).decode()
        while "}}" not in answer and (more := link.recv(65536)):
            answer += more.decode()
    assert answer.split()[1] == "413", answer
    assert str(MAX_LARGE_BODY_BYTES) in answer, answer


def test_a_client_that_sends_an_oversize_body_first_gets_the_limit(cluster: Cluster) -> None:
    piece, count = b" " * 2**20, MAX_LARGE_BODY_BYTES // 2**20 + 1
    link = HTTPConnection("127.0.0.1", cluster.port, timeout=60)
    with closing(link):
        headers = {"Authorization": f"Bearer {cluster.session().token}"}
        link.request(
            "POST",
            "/api/v1/experiments",
            (piece for _ in range(count)),
            {**headers, "Content-Length": str(count * len(piece))},
        )
        answer = link.getresponse()
        assert (answer.status, b"larger than the limit" in answer.read()) == (413, True)
        link.request("GET", "/api/v1/me", headers=headers)
        assert link.getresponse().status == 200, "the connection is as good as before"


def test_a_wrong_password_and_an_unknown_user_get_the_same_answer(
    cluster: Cluster, http: Any
) -> None:
    answers = []
    for user in ("admin", "nobody-of-that-name"):
        body = json.dumps({"username": user, "password": "Wrong-1234"})
        answer = http.request("POST", f"{cluster.address}/api/v1/auth/login", body=body)
        answers.append((answer.status, answer.data))
    assert answers[0] == answers[1]
    assert answers[0][0] in (401, 403)


def test_a_deactivated_users_token_is_refused_and_the_users_work_continues(
    cluster: Cluster, http: Any
) -> None:
    user = {"username": "leaver", "active": True, "admin": False}
    made = cluster.post("/api/v1/users", {"user": user, "password": PASSWORD, "isHashed": False})
    token = token_of(cluster, "leaver")
    headers = {"Authorization": f"Bearer {token}"}
    me = f"{cluster.address}/api/v1/me"
    assert http.request("GET", me, headers=headers).status == 200
    body = json.dumps({"config": json.dumps(config("sleep 0.5")), "activate": True})
    answer = http.request(
        "POST", f"{cluster.address}/api/v1/experiments", body=body, headers=headers
    )
    experiment = int(answer.json()["experiment"]["id"])
    cluster.session().patch(f"/api/v1/users/{made['user']['id']}", json={"active": False})
    refused = http.request("GET", me, headers=headers)
    assert (refused.status, refused.json()["error"]["code"]) == (403, 7)
    assert cluster.wait(experiment) == "COMPLETED"


def test_a_second_master_on_a_port_in_use_says_so_and_ends(cluster: Cluster) -> None:
    done = cluster.run_master("--db-data-dir", str(cluster.root / "other" / "pg"))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"determined-master: port {cluster.port} of 127.0.0.1 cannot be used: Address already in "
        "use; stop the program that listens there, or choose another with --port or --host"
    )


def test_a_second_master_on_a_data_directory_in_use_names_its_owner(cluster: Cluster) -> None:
    done = cluster.run_master("--db-data-dir", str(cluster.root / "db" / "pg"), port=0)
    assert done.returncode == 1
    assert str(cluster.processes["master"].pid) in done.stderr
    assert str(cluster.root / "db" / "pg") in done.stderr
    assert cluster.connected() == ["agent-0"]


def test_a_second_agent_with_one_id_is_refused_and_the_first_continues(cluster: Cluster) -> None:
    held = Held(cluster, "two agents")
    held.began()
    second = cluster.start_twin("agent-0")
    try:
        assert second.wait(60) != 0
    except subprocess.TimeoutExpired:
        pytest.fail(f"the second agent continues: {cluster.log('twin')}")
    finally:
        second.kill()
        second.wait()
    assert "agent-0" in cluster.log("twin")
    assert "connected already" in cluster.log("twin")
    assert held.end() == "COMPLETED"


def test_one_key_makes_one_experiment_across_a_lost_answer_and_a_restart(http: Any) -> None:
    with running() as cluster:
        proxy = LossyProxy(cluster.port)
        try:
            proxy.lose_answer(b"/api/v1/experiments", cluster.processes["master"].kill)
            with pytest.raises(urllib3.exceptions.HTTPError):
                create(cluster, http, "lost", port=str(proxy.port))
            assert proxy.has_struck.is_set()
        finally:
            proxy.close()
        cluster.kill("master")
        cluster.start_master()
        again = [create(cluster, http, "lost").json()["experiment"]["id"] for _ in range(2)]
        assert [again[0]] == [again[1]] == named(cluster, "lost")


def test_many_at_once_with_one_key_make_one_experiment(cluster: Cluster, http: Any) -> None:
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: create(cluster, http, "many"), range(8)))
    assert {a.status for a in answers} == {200}
    assert {a.json()["experiment"]["id"] for a in answers} == set(named(cluster, "many"))
    assert len(named(cluster, "many")) == 1


def test_clients_get_a_retryable_error_while_the_database_is_unavailable(http: Any) -> None:
    with running() as cluster:
        headers = {"Authorization": f"Bearer {cluster.session().token}"}
        seen: set[int] = set()

        def asked() -> int:
            answer = http.request(
                "GET",
                f"{cluster.address}/api/v1/experiments",
                headers=headers,
                retries=False,
                timeout=90,
            )
            seen.add(answer.status)
            assert answer.status != 500, cluster.log()[-6000:]
            if answer.status == 503:
                assert answer.json()["error"]["code"] == 14
            return int(answer.status)

        def is_away() -> bool:
            cluster.kill_postgres()  # which is back within a second: before a slow question, too
            return asked() == 503

        for _ in range(3):
            until(is_away, what="an answer while the database is away")
            until(lambda: asked() == 200, what="a database that is back")
        assert seen == {200, 503}
        until(lambda: cluster.connected() == ["agent-0"], what="the agent")
        experiment = cluster.submit(config("true"), {})
        assert cluster.wait(experiment) == "COMPLETED"
