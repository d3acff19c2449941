"""Small public functions, and what a process knows of its task."""

from __future__ import annotations

import datetime
import json
import pathlib
import sys

import pytest

import determined as det
from determined import util
from determined._info import read_cluster_info, write_info
from determined.common import util as common_util


def test_info_files_come_back_as_values(tmp_path: pathlib.Path) -> None:
    assert read_cluster_info(str(tmp_path)) is None
    env = {
        "DET_MASTER": "master",
        "DET_CLUSTER_ID": "c",
        "DET_AGENT_ID": "a",
        "DET_SLOT_IDS": "[0,1]",
        "DET_TASK_ID": "t",
        "DET_ALLOCATION_ID": "t.1",
        "DET_SESSION_TOKEN": "s",
        "DET_TASK_TYPE": "NOTEBOOK",
    }
    folder = str(tmp_path)
    write_info(folder, "cluster.json", det.ClusterInfo.from_environment(env).to_json())
    info = read_cluster_info(folder)
    assert info is not None
    assert info.master_url == "http://master:8080"
    assert (info.container_addrs, info.container_slot_counts) == (["127.0.0.1"], [2])
    assert info.user_data == {}
    with pytest.raises(RuntimeError, match="NOTEBOOK has no trial info"):
        _ = info.trial


def test_a_trial_that_has_not_met_the_others_says_so() -> None:
    info = det.ClusterInfo("m", "c", "a", [0], "t", "t.1", "s", "TRIAL")
    with pytest.raises(RuntimeError, match="no rendezvous info yet"):
        _ = info.container_rank


def test_an_experiments_configuration_has_readers() -> None:
    config = det.ExperimentConfig(
        {"searcher": {"metric": "loss"}, "resources": {"slots_per_trial": 4}, "entrypoint": "x"}
    )
    assert config.get_searcher_metric() == "loss"
    assert config.slots_per_trial() == 4
    assert config.scheduling_unit() == 100
    assert config.get_entrypoint() == "x"
    assert config.profiling_interval() == (0, None)
    with pytest.raises(ValueError, match="entrypoint must be"):
        det.ExperimentConfig({}).get_entrypoint()


def test_a_trial_context_knows_its_configuration() -> None:
    context = det.TrialContext.from_config(
        {"hyperparameters": {"lr": {"type": "const", "val": 0.1}, "n": 3}, "data": {"x": 1}}
    )
    assert (context.get_hparam("lr"), context.get_hparam("n")) == (0.1, 3)
    assert context.get_data_config() == {"x": 1}
    with pytest.raises(ValueError, match=r"there is no hyperparameter 'z'; .* lr, n"):
        context.get_hparam("z")


def test_code_of_two_checkpoints_is_loaded_side_by_side(tmp_path: pathlib.Path) -> None:
    for version in ("1", "2"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "det_model_of_test.py").write_text(f"VERSION = {version}\n")
    found = []
    for version in ("1", "2"):
        with det.import_from_path(tmp_path / version):
            import det_model_of_test  # type: ignore[import-not-found]  # made above

            found.append(det_model_of_test.VERSION)
    assert found == [1, 2]
    assert "det_model_of_test" not in sys.modules
    assert str(tmp_path / "2") not in sys.path


def test_secrets_are_masked_wherever_they_stand() -> None:
    config = {
        "checkpoint_storage": {"type": "s3", "secret_key": "s", "access_key": None},
        "environment": {"registry_auth": {"username": "u", "password": "s", "registrytoken": "s"}},
        "data": {"secrets": {"a": "s"}, "b": 1},
        "integrations": {"pachyderm": {"dataset": {"token": "s", "repo": "r"}}},
        "name": "n",
    }
    masked = util.mask_config_dict(config)
    assert '"s"' not in json.dumps(masked)
    assert masked["checkpoint_storage"]["access_key"] is None
    assert masked["environment"]["registry_auth"]["username"] == "u"
    assert masked["integrations"]["pachyderm"]["dataset"]["repo"] == "r"
    assert (masked["data"]["b"], masked["name"]) == (1, "n")
    assert config["data"]["secrets"] == {"a": "s"}  # type: ignore[index]  # untouched


def test_dicts_are_merged_and_metrics_averaged() -> None:
    base = {"a": {"x": 1}, "b": 1}
    assert util.merge_dicts(base, {"a": {"y": 2}, "b": 2}) == {"a": {"x": 1, "y": 2}, "b": 2}
    assert base == {"a": {"x": 1}, "b": 1}
    util.merge_dicts(base, {})["a"]["x"] = 2
    assert base == {"a": {"x": 1}, "b": 1}
    made = util.make_metrics(4, [{"l": 1.0}, {"l": 3.0}])
    assert made["avg_metrics"] == {"l": 2.0}
    with pytest.raises(ValueError, match="batch 1 reports"):
        util.validate_batch_metrics([{"a": 1}, {"b": 1}])


def test_old_trial_classes_are_recognised() -> None:
    assert util.match_legacy_trial_class("model_def:MyTrial")
    assert not util.match_legacy_trial_class("python3 train.py")
    assert not util.match_legacy_trial_class("a:b c")


def test_times_of_the_api_are_read_to_the_microsecond() -> None:
    at = common_util.parse_protobuf_timestamp("2026-01-02T03:04:05.123456789Z")
    assert at == datetime.datetime(2026, 1, 2, 3, 4, 5, 123456, tzinfo=datetime.timezone.utc)
    assert common_util.is_protobuf_timestamp("2026-01-02T03:04:05+02:00")
    assert not common_util.is_protobuf_timestamp("yesterday")


def test_yaml_is_read_and_written() -> None:
    assert common_util.yaml_safe_load("lr: 1e-4\non: yes\n") == {"lr": 1e-4, "on": "yes"}
    assert common_util.yaml_safe_dump({"a": [1, 2]}) == "a:\n- 1\n- 2\n"
    with pytest.raises(ValueError, match="cannot be read"):
        common_util.safe_load_yaml_with_exceptions("a: [")


def test_strtobool_accepts_words_for_yes_and_no() -> None:
    assert common_util.strtobool("Yes")
    assert not common_util.strtobool("off")
    with pytest.raises(ValueError, match="neither yes nor no"):
        common_util.strtobool("perhaps")
