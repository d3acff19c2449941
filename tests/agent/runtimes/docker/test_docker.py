"""The Docker runtime on a real daemon: the contract of all runtimes, and its own features."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.agent.runtimes.conftest import Make
from tests.agent.runtimes.docker.steps import (
    UNTIL_GO,
    again,
    check_counted,
    counting,
    inside,
    let_go,
    notes_of,
)
from tests.agent_link import spec, until
from tests.contracts.runtime_contract import RuntimeContract, RuntimeDriver, lines_of
from tests.covers import covers
from tests.debian_tree import CannotRun
from tests.docker_daemon import (
    IMAGE,
    Daemon,
    daemon,
    import_image,
    missing,
)
from tests.object_server import object_server
from tests.registry import Registry

from determined_agent.container.directory import Exit
from determined_agent.runtimes.base import LaunchFailed
from determined_agent.runtimes.docker.runtime import DockerRuntime
from determined_agent.settings.options import Settings
from determined_wire.agent_link import File, Mount, RegistryAuth, TaskUser

pytestmark = [pytest.mark.slow, pytest.mark.docker, pytest.mark.xdist_group("docker")]


class TestDockerRuntime(RuntimeContract):
    pass


class TestWhatIsInside:
    @covers("agent-config 5.files")
    async def test_the_task_finds_its_user_files_memory_and_harness(
        self, driver: RuntimeDriver, tmp_path: Path
    ) -> None:
        shared = tmp_path / "shared"
        shared.mkdir(mode=0o777)
        shared.chmod(0o777)
        _, lines = await driver.run(
            "import os, pathlib, stat, sys",
            "print(os.getuid(), os.getgid(), os.getcwd(), os.environ['HOME'])",
            "print(oct(os.stat('/run/determined').st_mode & 0o7777), open('../given').read())",
            "print(open('/run/determined/etc/passwd').read().strip())",
            "shm = os.statvfs('/dev/shm')",
            "print(shm.f_frsize * shm.f_blocks)",
            "import determined, urllib3, ruamel.yaml",
            "print(os.path.dirname(determined.__file__), sys.path[1])",
            "print(os.access(os.path.dirname(determined.__file__), os.W_OK))",
            "pathlib.Path('/outside/made').write_text('here')",
            user=TaskUser("someone", 54321, "some", 54322),
            files=(File("/run/determined/given", b"content", 0o600),),
            mounts=(Mount(str(shared), "/outside"),),
            shm_size_bytes=100 * 1024**2,
        )
        assert lines == [
            "54321 54322 /run/determined/workdir /",
            "0o700 content",
            "someone:x:54321:54322::/run/determined/workdir:/bin/bash",
            str(100 * 1024**2),
            "/opt/determined/harness/determined /opt/determined/harness",
            "False",
        ]
        assert (shared / "made").read_text() == "here"
        assert (shared / "made").stat().st_uid == 54321

    async def test_a_task_in_an_image_without_a_client_of_buckets_has_one(
        self, driver: RuntimeDriver
    ) -> None:
        """Nor does the image have certificates of authorities."""
        with object_server() as objects:
            config = {
                "type": "s3",
                "bucket": objects.new_bucket(),
                "access_key": "key",
                "secret_key": "secret",
                "endpoint_url": objects.url,
            }
            _, lines = await driver.run(
                "import importlib.util",
                "print([importlib.util.find_spec(n) for n in ('obstore', 'boto3')])",
                "from determined.common import storage",
                f"storage.build({config!r}).validate()",
                "import obstore",
                "print(obstore.__file__)",
                network_mode="host",
            )
        assert lines == [
            "[None, None]",
            "/opt/determined/harness/storage-client/obstore/__init__.py",
        ]

    async def test_capabilities_are_added_and_dropped(self, driver: RuntimeDriver) -> None:
        script = (
            "caps = next(l for l in open('/proc/self/status') if l.startswith('CapEff'))",
            "print(*[int(caps.split()[1], 16) >> bit & 1 for bit in (12, 27)])",
        )
        _, plain = await driver.run(*script)
        _, changed = await driver.run(
            *script, add_capabilities=("NET_ADMIN",), drop_capabilities=("MKNOD",)
        )
        assert (plain, changed) == (["0 1"], ["1 0"])

    async def test_devices_and_mounts_have_the_configured_paths(
        self, driver: RuntimeDriver, tmp_path: Path
    ) -> None:
        (tmp_path / "data").mkdir()
        (tmp_path / "data/file").write_text("mine")
        end, lines = await driver.run(
            "import os, stat",
            "found = os.stat('/dev/mine')",
            "print(stat.S_ISCHR(found.st_mode), found.st_rdev == os.makedev(1, 5))",
            "print(open('/dev/mine', 'rb').read(2))",
            "print(open('in/file').read(), open('/run/determined/workdir/in/file').read())",
            "try: open('in/file', 'w')",
            "except OSError as error: print(error.strerror)",
            devices=("/dev/zero:/dev/mine:r",),
            mounts=(Mount(str(tmp_path / "data"), "in", True),),
        )
        assert end.exit_code == 0
        assert lines == ["True True", "b'\\x00\\x00'", "mine mine", "Read-only file system"]

    async def test_a_missing_storage_fails_the_task_or_is_left_out(
        self, driver: RuntimeDriver, tmp_path: Path
    ) -> None:
        path = tmp_path / "mistyped"
        mount = Mount(str(path), "/determined_shared_fs", if_missing="fail")
        with pytest.raises(LaunchFailed, match=f"host_path {path} is not a") as caught:
            await driver.launch(spec("pass", mounts=(mount,)))
        assert caught.value.failure.type == "task_error"
        optional = Mount(str(path), "/determined_shared_fs", if_missing="skip")
        _, lines = await driver.run(
            "import os", "print(os.path.exists('/determined_shared_fs'))", mounts=(optional,)
        )
        assert lines == ["False"]
        assert not path.exists()

    @covers("experiment-config 12.hpc_images")
    async def test_an_image_name_may_have_a_transport_of_the_daemon(
        self, driver: RuntimeDriver
    ) -> None:
        for form in (f"docker://{IMAGE}", f"docker-daemon:{IMAGE}"):
            end, lines = await driver.run("print('it runs')", image=form)
            assert (end.exit_code, lines) == (0, ["it runs"])
        with pytest.raises(LaunchFailed, match=r"'/a\.sif': container_runtime docker") as caught:
            await driver.launch(spec("pass", image="/a.sif"))
        assert caught.value.failure.type == "task_error"

    async def test_a_custom_work_dir_is_created(self, driver: RuntimeDriver) -> None:
        _, lines = await driver.run("import os", "print(os.getcwd())", work_dir="/some/where")
        assert lines == ["/some/where"]

    @covers("agent-config 5.labels")
    async def test_the_container_has_labels_and_is_kept_until_its_end_is_stored(
        self, driver: RuntimeDriver, docker: Daemon
    ) -> None:
        directory, handle = await driver.launch(spec("pass", description="exp-1-trial-2"))
        await asyncio.wait_for(handle.wait(), 60)
        [container] = docker.containers()
        shown = json.loads(docker.run("inspect", container))[0]
        labels = {
            name.removeprefix("ai.determined.container."): value
            for name, value in shown["Config"]["Labels"].items()
            if name.startswith("ai.determined.container.")
        }
        assert labels.pop("directory") == str(driver.root)
        assert labels == {
            "type": "task-container",
            "version": "0",
            "id": directory.container_id,
            "devices": "",
            "description": "exp-1-trial-2",
            "agent": "agent-1",
            "cluster": "c",
            "master": "m",
        }
        assert shown["Name"] == f"/exp-1-trial-2-{directory.container_id}"
        assert shown["HostConfig"]["AutoRemove"] is False
        await driver.runtime.remove(directory.container_id)
        assert docker.containers() == []

    async def test_a_fork_bomb_stays_within_its_limit(self, make: Make) -> None:
        end, lines = await make(container_pids_limit=40).run(
            "import os, time",
            "born = 0",
            "try:",
            "    while True:",
            "        if os.fork() == 0: time.sleep(600)",
            "        born += 1",
            "except BlockingIOError as error: print('refused at', born)",
        )
        assert end.exit_code == 0
        assert lines == ["refused at 39"]

    async def test_a_line_of_ten_megabytes_arrives_in_pieces(self, driver: RuntimeDriver) -> None:
        end, lines = await driver.run(
            "import os", "os.write(1, b'x' * 10**7 + b'\\n')", "print('after')"
        )
        assert end.exit_code == 0
        assert lines[-1] == "after"
        assert sum(line.count("x") for line in lines) == 10**7
        assert max(map(len, lines)) < 70_000


class TestTheAgentsRestart:
    async def test_output_continues_without_gaps_or_duplicates(
        self, driver: RuntimeDriver, docker: Daemon
    ) -> None:
        directory, handle = await driver.launch(counting(0.003))
        for seen in (20, 80, 160):
            await until(lambda seen=seen: len(lines_of(directory)) > seen)
            let_go(driver, handle)
            found = await again(driver, directory)
            assert not isinstance(found, Exit)
            handle = found
        (inside(docker) / "go").touch()
        end = await asyncio.wait_for(handle.wait(), 60)
        assert end.exit_code == 0
        check_counted(lines_of(directory, end))

    async def test_a_container_that_ended_meanwhile_is_found_with_all_of_its_output(
        self, driver: RuntimeDriver, docker: Daemon
    ) -> None:
        what = spec("print('first', flush=True)", UNTIL_GO, "print('x' * 9)")
        directory, handle = await driver.launch(what)
        await until(lambda: lines_of(directory) == ["first"])
        let_go(driver, handle)
        (inside(docker) / "go").touch()
        await until(lambda: docker.run("ps", "-q") == "")
        end = await again(driver, directory)
        assert isinstance(end, Exit)
        assert end.exit_code == 0
        assert end.ended_us > 0
        assert lines_of(directory, end) == ["first", "x" * 9]

    async def test_a_removed_container_is_a_restore_error(
        self, driver: RuntimeDriver, docker: Daemon
    ) -> None:
        _, handle = await driver.launch(spec("import time", "time.sleep(600)"))
        docker.run("rm", "-f", *docker.containers())
        end = await asyncio.wait_for(handle.wait(), 60)
        assert end.failure is not None
        assert end.failure.type == "restore_error"

    async def test_containers_without_directory_are_removed_but_not_those_of_another_agent(
        self, make: Make, docker: Daemon
    ) -> None:
        mine, other = make("mine"), make("other")
        await mine.launch(spec("import time", "time.sleep(600)"))
        kept, _ = await mine.launch(spec("import time", "time.sleep(600)"))
        await other.launch(spec("import time", "time.sleep(600)"))
        await mine.runtime.sweep(frozenset({kept.container_id}))
        assert len(docker.containers()) == 2

    @covers("agent-config 2.container_auto_remove_disabled 5.auto_remove")
    async def test_an_ended_container_is_removed_unless_the_settings_keep_it(
        self, make: Make, docker: Daemon
    ) -> None:
        keeping = make("keeping", container_auto_remove_disabled=True)
        for driver, left in ((make("usual"), 0), (keeping, 1)):
            directory, handle = await driver.launch(spec("print('inside')"))
            await handle.wait()
            await driver.runtime.remove(directory.container_id)
            await driver.runtime.sweep(frozenset())
            assert len(docker.containers()) == left
        [kept] = docker.containers()
        assert docker.run("logs", kept).strip() == "inside"
        await keeping.launch(spec("import time", "time.sleep(600)"))
        await keeping.runtime.sweep(frozenset())
        assert docker.containers() == [kept]
        docker.run("rm", kept)


class TestImages:
    @covers("agent-config 4.pull_timings")
    async def test_an_image_is_pulled_and_one_without_python_is_a_task_error(
        self, driver: RuntimeDriver, images: Registry
    ) -> None:
        what = spec("pass", image=images.image)
        directory, start = driver.make(what)
        with pytest.raises(LaunchFailed) as caught:
            await driver.runtime.launch(directory, start, driver.states.append)
        assert caught.value.failure.type == "task_error"
        assert "the image needs Python 3.9 or newer as `python3`" in caught.value.failure.message
        notes = notes_of(directory)
        assert notes[0] == f"pulling image {images.image}"
        assert notes[1].startswith(f"pulled image {images.image} in ")
        assert notes[2] == caught.value.failure.message
        assert driver.states == ["PULLING", "STARTING"]

    @covers("agent-config 5.pull")
    async def test_an_image_is_pulled_again_only_with_force_pull(
        self, driver: RuntimeDriver, images: Registry
    ) -> None:
        for force, states in ((False, ["PULLING"]), (False, []), (True, ["PULLING"])):
            driver.states.clear()
            with pytest.raises(LaunchFailed):
                await driver.launch(spec("pass", image=images.image, force_pull_image=force))
            assert driver.states == [*states, "STARTING"]

    async def test_the_error_names_a_missing_image(
        self, driver: RuntimeDriver, images: Registry
    ) -> None:
        name = f"{images.host}/nothing:9"
        with pytest.raises(LaunchFailed) as caught:
            await driver.launch(spec("pass", image=name))
        assert caught.value.failure.type == "task_error"
        assert f"the image {name} could not be pulled" in caught.value.failure.message
        assert "environment.image" in caught.value.failure.message

    async def test_a_private_image_needs_the_tasks_credentials(
        self, driver: RuntimeDriver, images: Registry
    ) -> None:
        images.password = "sesame"
        with pytest.raises(LaunchFailed, match=r"set environment\.registry_auth"):
            await driver.launch(spec("pass", image=images.image))
        auth = RegistryAuth("alice", "sesame", images.host)
        directory, start = driver.make(spec("pass", image=images.image, registry_auth=auth))
        with pytest.raises(LaunchFailed, match="needs Python"):
            await driver.runtime.launch(directory, start, driver.states.append)
        assert notes_of(directory)[0] == f"pulling image {images.image} as alice"
        assert "sesame" not in str(notes_of(directory))

    async def test_a_failed_pull_is_reported_and_the_next_one_works(
        self, driver: RuntimeDriver, images: Registry
    ) -> None:
        images.cuts = 1
        with pytest.raises(LaunchFailed, match="could not be pulled") as caught:
            await driver.launch(spec("pass", image=images.image))
        assert images.image in caught.value.failure.message
        with pytest.raises(LaunchFailed, match="needs Python"):
            await driver.launch(spec("pass", image=images.image))
        assert images.pulls >= 2


@pytest.fixture(scope="module")
def bridged(request: pytest.FixtureRequest) -> Iterator[Daemon]:
    """A daemon with default options: containers have a network, and end with the daemon."""
    reason = missing()
    if reason is not None:
        pytest.skip(f"no Docker here: {reason}")
    debian_tree: Path = request.getfixturevalue("debian_tree")
    options = ("--userland-proxy=true", "--live-restore=false")
    try:
        with daemon(*options) as made:
            import_image(made, debian_tree)
            yield made
    except CannotRun as error:
        pytest.skip(f"no Docker here: {error}")


@pytest.fixture
def plain(bridged: Daemon, tmp_path: Path) -> RuntimeDriver:
    return driver_of(bridged, tmp_path)


class TestAPlainDaemon:
    async def test_ports_are_reachable_at_the_published_numbers(
        self, plain: RuntimeDriver, bridged: Daemon
    ) -> None:
        directory, handle = await plain.launch(
            spec(
                "import socket",
                "with socket.create_server(('', 1734)) as server:",
                "    print('ready', flush=True)",
                "    while True:",  # any program on this machine may try the port, too
                "        link, _ = server.accept()",
                "        link.sendall(b'from inside')",
                "        if link.recv(1):",
                "            break",
                ports=(1734, 1735),
            )
        )
        first, second = handle.addresses()
        assert bridged.bridge is not None
        assert first.container_ip.startswith(f"{bridged.bridge.net}.")
        assert (first.host_ip, first.container_port, second.container_port) == ("", 1734, 1735)
        assert first.host_port not in (1734, second.host_port)
        await until(lambda: lines_of(directory) == ["ready"])
        reader, writer = await asyncio.open_connection("127.0.0.1", first.host_port)
        try:
            assert await asyncio.wait_for(reader.readexactly(11), 60) == b"from inside"
            writer.write(b"!")
        finally:
            writer.close()
            await writer.wait_closed()
        assert (await asyncio.wait_for(handle.wait(), 60)).exit_code == 0
        found = await again(plain, directory)
        assert isinstance(found, Exit)
        await plain.runtime.remove(directory.container_id)

    async def test_a_task_ended_by_a_restart_of_the_daemon_is_a_restore_error(
        self, plain: RuntimeDriver, bridged: Daemon
    ) -> None:
        directory, handle = await plain.launch(
            spec("import time", "print('ready', flush=True)", "time.sleep(600)")
        )
        await until(lambda: lines_of(directory) == ["ready"])
        await asyncio.to_thread(bridged.restart)
        end = await asyncio.wait_for(handle.wait(), 60)
        assert end.failure is not None
        assert end.failure.type == "restore_error"
        assert "set live-restore" in end.failure.message
        await plain.runtime.remove(directory.container_id)


def driver_of(docker: Daemon, root: Path) -> RuntimeDriver:
    """With default options: nobody chose a network."""
    settings = Settings(
        master_host="m", agent_id="a", work_dir=str(root), docker_host=docker.address
    )
    made = RuntimeDriver(DockerRuntime(settings, root), root)
    made.defaults = {"image": IMAGE}
    return made


@pytest.mark.skipif(missing() is not None, reason=f"no Docker here: {missing()}")
async def test_a_daemon_without_a_bridge_is_an_error(debian_tree: Path, tmp_path: Path) -> None:
    with daemon(has_bridge=False) as docker:
        import_image(docker, debian_tree)
        driver = driver_of(docker, tmp_path)
        with pytest.raises(LaunchFailed, match=r"it has no network.*network_mode to host"):
            await driver.launch(spec("import time", "time.sleep(600)"))
        assert driver.handles == []
