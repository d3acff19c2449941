"""Packing a model directory: what goes, what stays, and what is refused by name."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from determined.common import context


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def paths(root: Path, **options: object) -> list[str]:
    return [item["path"] for item in context.read(root, **options)]  # type: ignore[arg-type]


def test_files_and_directories_are_packed_as_the_master_takes_them(tmp_path: Path) -> None:
    write(tmp_path, {"sub/run.sh": "echo\n"})
    (tmp_path / "sub" / "run.sh").chmod(0o755)
    os.utime(tmp_path / "sub" / "run.sh", (1700000000, 1700000000))
    folder, file = context.read(tmp_path)
    assert (folder["path"], folder["type"], folder["content"]) == ("sub", 53, "")
    assert folder["mode"] & 0o40000
    assert file == {
        "path": "sub/run.sh",
        "type": 48,
        "content": base64.b64encode(b"echo\n").decode(),
        "mtime": "1700000000",
        "mode": 0o100755,
        "uid": 0,
        "gid": 0,
    }


def test_ignored_files_stay_and_so_do_byte_code_and_version_control(tmp_path: Path) -> None:
    files = ["a.log", "data/big", "data/keep", ".git/x", "p/__pycache__/m.pyc", "p/m.py"]
    write(tmp_path, dict.fromkeys(files, "") | {".detignore": "*.log\n/data/*\n!/data/keep\n"})
    assert paths(tmp_path) == ["data", "data/keep", "p", "p/m.py"]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_byte_order_mark_belongs_to_no_pattern(tmp_path: Path, line_end: str) -> None:
    (tmp_path / "data.bin").write_text("x")
    (tmp_path / ".detignore").write_bytes(f"\ufeffdata.bin{line_end}*.log{line_end}".encode())
    assert context.read(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "place"),
    [(b"a\nb\xff\n", "line 2: byte 0xff"), ("*.log".encode("utf-16"), "line 1: byte 0xff")],
)
def test_an_ignore_file_of_another_encoding_is_named_with_its_line(
    tmp_path: Path, content: bytes, place: str
) -> None:
    file = tmp_path / ".detignore"
    file.write_bytes(content)
    with pytest.raises(context.ContextError) as error:
        context.read(tmp_path)
    assert str(error.value) == (
        f"ignore file '{file}', {place} is not UTF-8 text: save it as UTF-8"
    )


def test_an_ignored_directory_is_not_even_looked_into(tmp_path: Path) -> None:
    write(tmp_path, {"secret/x": "", "m.py": "", ".detignore": "secret/\n"})
    (tmp_path / "secret" / "out").symlink_to("/etc/hostname")
    assert paths(tmp_path) == ["m.py"]


def test_included_files_come_at_the_top(tmp_path: Path) -> None:
    root = write(tmp_path / "model", {"m.py": ""})
    write(tmp_path, {"extra.txt": "", "lib/a.py": "", "lib/__pycache__/a.pyc": ""})
    found = paths(root, includes=[tmp_path / "extra.txt", tmp_path / "lib"])
    assert found == ["m.py", "extra.txt", "lib", "lib/a.py"]


def test_a_name_twice_is_refused(tmp_path: Path) -> None:
    root = write(tmp_path / "model", {"m.py": "a"})
    write(tmp_path, {"m.py": "b"})
    with pytest.raises(context.ContextError, match=r"'m.py' would be sent twice"):
        context.read(root, [tmp_path / "m.py"])


def test_a_link_inside_is_followed(tmp_path: Path) -> None:
    write(tmp_path, {"d/f": "text"})
    (tmp_path / "file-link").symlink_to("d/f")
    (tmp_path / "dir-link").symlink_to("d")
    assert paths(tmp_path) == ["d", "d/f", "dir-link", "dir-link/f", "file-link"]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("/etc/hostname", "leads out of"),
        ("gone", "has no target"),
        (".", "links to its own parent"),
    ],
)
def test_a_link_that_cannot_be_sent_is_named(tmp_path: Path, target: str, words: str) -> None:
    write(tmp_path, {"sub/f": ""})
    (tmp_path / "sub" / "link").symlink_to(target)
    with pytest.raises(context.ContextError, match=words) as caught:
        context.read(tmp_path)
    assert "sub/link" in str(caught.value)
    assert ".detignore" in str(caught.value)


def test_a_special_file_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(context.ContextError, match="pipe' is neither a file nor a directory"):
        context.read(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    write(tmp_path, {"secret": "x"})
    (tmp_path / "secret").chmod(0)
    with pytest.raises(context.ContextError, match=r"cannot read .*secret.*: Permission denied"):
        context.read(tmp_path)


def test_an_unreadable_file_is_named_also_for_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"secret": "x"})

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(context.ContextError, match=r"cannot read .*secret.*: Permission denied"):
        context.read(tmp_path)


def test_too_much_is_refused_with_the_largest_named(tmp_path: Path) -> None:
    write(tmp_path, {"small": "x", "big/a.bin": "x" * 900, "mid.bin": "x" * 200})
    with pytest.raises(context.ContextError) as caught:
        context.read(tmp_path, limit_bytes=1000)
    text = str(caught.value)
    assert text.index("big/a.bin") < text.index("mid.bin") < text.index("small")
    assert "limit" in text
    assert ".detignore" in text
    assert context.read(tmp_path, limit_bytes=1101)


def test_the_limit_is_what_a_master_takes() -> None:
    assert context.LIMIT_BYTES == 100663296


@pytest.mark.parametrize(("name", "words"), [("none", "does not exist"), ("f", "is a file")])
def test_a_root_that_is_no_directory_is_named(tmp_path: Path, name: str, words: str) -> None:
    write(tmp_path, {"f": ""})
    with pytest.raises(context.ContextError, match=words):
        context.read(tmp_path / name)


def test_progress_counts_bytes_and_files(tmp_path: Path) -> None:
    write(tmp_path, {"a": "12", "b": "345"})
    told: list[tuple[int, int]] = []
    context.read(tmp_path, progress=lambda count, items: told.append((count, items)))
    assert told == [(2, 1), (5, 2)]
