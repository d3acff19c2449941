"""Generates the shapes of the REST API from tools/api/api.json.

python tools/generate_api.py            writes the files
python tools/generate_api.py --check    exits 1 and names what is stale
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tools import api_bindings, api_model, api_published, api_wire  # noqa: E402 - needs the path above

WIRE = Path("src/determined_wire/rest")
CLIENT = Path("src/determined/common/api")


def generate() -> dict[Path, str]:
    """Path below the repository's root -> text, for every generated file."""
    model = api_model.load()
    files = {WIRE / name: text for name, text in api_wire.modules(model).items()}
    files |= {CLIENT / "rest" / name: text for name, text in api_bindings.modules(model).items()}
    files[CLIENT / "rest/published.py"] = api_published.table(model)
    files[CLIENT / "bindings.py"] = api_bindings.facade(model)
    files[CLIENT / "bindings.pyi"] = api_bindings.stub(model)
    return files


def stale() -> list[str]:
    """Generated files that are missing, differ, or should no longer be there."""
    wanted = generate()
    wrong = [
        str(path)
        for path, text in wanted.items()
        if not (ROOT / path).exists() or (ROOT / path).read_text() != text
    ]
    for folder in (WIRE, CLIENT / "rest"):
        for found in (ROOT / folder).rglob("*.py"):
            path = found.relative_to(ROOT)
            if path not in wanted and path.name != "__init__.py":
                wrong.append(str(path))
    return sorted(wrong)


def main() -> int:
    """Write the files, or with `--check` compare them."""
    if "--check" in sys.argv[1:]:
        wrong = stale()
        print("\n".join(wrong) or "fresh")
        return 1 if wrong else 0
    for path, text in generate().items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
