"""`det workspace`, `det project` and the cluster's message against a cluster."""

from __future__ import annotations

import pytest
from tests.e2e.cluster import until
from tests.e2e.live.conftest import Person

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("live")]
live = pytest.mark.live
IDLE = "{name: idle, entrypoint: x, searcher: {name: single, metric: loss}}"


@live(
    "workspace create",
    "workspace list",
    "workspace describe",
    "workspace edit",
    "workspace list-pools",
    "workspace list-projects",
    "workspace archive",
    "workspace unarchive",
    "workspace delete",
)
def test_a_workspace_lives(person: Person) -> None:
    agent = ("--agent-uid", 0, "--agent-user", "root", "--agent-gid", 0, "--agent-group", "root")
    storage = ("--checkpoint-storage-config", "{type: shared_fs, host_path: /tmp/of-space}")
    made = person.det("w", "create", "space", *agent, *storage, "--json").json()
    assert made["checkpointStorageConfig"]["host_path"] == "/tmp/of-space"
    assert made["agentUserGroup"]["agentUser"] == "root"
    names = [w["name"] for w in person.det("w", "list", "--sort-by", "name", "--json").json()]
    assert names == sorted(names, key=str.lower)
    assert "space" in names
    person.det("w", "edit", "space", "--name", "room", "--default-aux-pool", "default")
    told = person.det("w", "describe", "room").out
    assert "host_path: /tmp/of-space" in told
    assert person.det("w", "describe", "room", "--json").json()["defaultAuxPool"] == "default"
    assert "default" in person.det("w", "list-pools", "room").out
    person.det("p", "create", "room", "one")
    listed = person.det("w", "list-projects", "room", "--json").json()
    assert [p["name"] for p in listed] == ["one"]
    person.det("w", "archive", "room")
    assert "archived" in person.det("p", "create", "room", "two", code=1).err
    person.det("w", "unarchive", "room")
    person.det("w", "delete", "room", typed="no\n", code=1)
    assert person.det("w", "delete", "room", "--yes").out == "Deleted workspace 'room'\n"
    assert "there is no workspace 'room'" in person.det("w", "describe", "room", code=1).err
    assert "nothing to change" in person.det("w", "edit", "Uncategorized", code=1).err
    said = person.det("w", "create", "k", "--namespace", "ns", code=1).err
    assert "Kubernetes" in said


@live(
    "project create",
    "project list",
    "project describe",
    "project edit",
    "project list-experiments",
    "project archive",
    "project unarchive",
    "project delete",
)
def test_a_project_lives_and_goes_with_its_experiments(person: Person) -> None:
    person.det("w", "create", "lab")
    words = ("p", "create", "lab", "cats", "--description", "of cats", "--key", "cat", "--json")
    assert person.det(*words).json()["key"] == "CAT"
    to_host_path = IDLE.replace("}}", "}, workspace: lab, project: cats}")
    number = person.create(to_host_path, "", "--paused")
    [listed] = person.det("p", "list-experiments", "lab", "cats", "--json").json()
    assert listed["id"] == number
    told = person.det("p", "describe", "lab", "cats").out
    assert "of cats" in told
    assert "idle" in told
    edited = person.det("p", "edit", "lab", "cats", "--new_name", "dogs", "--json").json()
    assert (edited["name"], edited["key"]) == ("dogs", "CAT")
    assert "dogs" in person.det("p", "list", "lab", "--order-by", "desc").out
    person.det("p", "archive", "lab", "dogs")
    assert (
        "archived"
        in person.det("e", "create", person.file(to_host_path.replace("cats", "dogs")), code=1).err
    )
    person.det("p", "unarchive", "lab", "dogs")
    said = person.det("p", "delete", "lab", "dogs", "--yes", code=1).err
    assert f"not over ({number})" in said
    person.det("e", "kill", number)
    person.cluster.wait(number)
    said = person.det("p", "delete", "lab", "dogs", typed="y\n").out
    assert "1 experiment(s)" in said
    assert "Started to delete project 'dogs'" in said
    path = "/api/v1/workspaces"
    [lab] = person.cluster.get(path, nameCaseSensitive="lab")["workspaces"]
    until(lambda: person.cluster.get(f"{path}/{lab['id']}")["workspace"]["numProjects"] == 0)
    person.det("w", "delete", "lab", "--yes")


@live("experiment create")
def test_an_experiment_is_placed_by_the_id_of_its_project(person: Person) -> None:
    person.det("w", "create", "placed")
    made = person.det("p", "create", "placed", "here", "--json").json()
    number = person.create(IDLE, "", "--paused", "--project_id", made["id"])
    assert person.experiment(number)["projectName"] == "here"


@live("master cluster-message set", "master cluster-message get", "master cluster-message clear")
def test_the_clusters_message_is_set_and_cleared(person: Person) -> None:
    words = ("master", "cluster-message")
    assert person.det(*words, "get").out == "No cluster message is set\n"
    person.det(*words, "set", "-m", "back soon", "-d", "1h")
    shown = person.det(*words, "get", "--json").json()
    assert shown["clusterMessage"]["message"] == "back soon"
    assert "back soon" in person.det("master", "info").out
    assert "give the text" in person.det(*words, "set", code=1).err
    person.det(*words, "clear")
    assert person.det(*words, "get").out == "No cluster message is set\n"
