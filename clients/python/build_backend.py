"""
Builds the wheel and the source archive with the standard library (PEP 517), so that a build needs no network. The same sources
give the same bytes. pyproject.toml has the metadata.
"""
from __future__ import annotations

import base64
import gzip
import hashlib
import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

try:
    import tomllib  # pyright: ignore[reportMissingTypeStubs]
except ImportError:  # Python 3.10
    from pip._vendor import tomli as tomllib  # type: ignore[no-redef,import-not-found]

ROOT = Path(__file__).parent
TIME = (2020, 1, 1, 0, 0, 0)
EPOCH = 1_577_836_800


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    project = _project()
    name = f"{project['name']}-{project['version']}"
    info = f"{name}.dist-info"
    files = {f"countersign/{path.name}": path.read_bytes() for path in _modules()}
    files[f"{info}/METADATA"] = _metadata(project)
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: countersign\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    records = [f"{path},sha256={_hash(data)},{len(data)}" for path, data in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*records, f"{info}/RECORD,,", ""]).encode()
    wheel = f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, TIME)
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return wheel


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    project = _project()
    name = f"{project['name']}-{project['version']}"
    own = ["pyproject.toml", "README.md", "build_backend.py"]
    files = {file: (ROOT / file).read_bytes() for file in own}
    files.update({f"src/countersign/{path.name}": path.read_bytes() for path in _modules()})
    files["PKG-INFO"] = _metadata(project)
    sdist = f"{name}.tar.gz"
    with (
        open(Path(sdist_directory) / sdist, "wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=EPOCH) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path, data in files.items():
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size, entry.mtime, entry.mode = len(data), EPOCH, 0o644
            archive.addfile(entry, io.BytesIO(data))
    return sdist


def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return project


def _modules() -> list[Path]:
    folder = ROOT / "src" / "countersign"
    return sorted(path for path in folder.iterdir() if path.suffix == ".py" or path.name == "py.typed")


def _metadata(project: dict[str, Any]) -> bytes:
    fields = [
        ("Metadata-Version", "2.1"),
        ("Name", project["name"]),
        ("Version", project["version"]),
        ("Summary", project["description"]),
        ("License", project["license"]["text"]),
        ("Keywords", ",".join(project["keywords"])),
        *[("Classifier", classifier) for classifier in project["classifiers"]],
        ("Requires-Python", project["requires-python"]),
        ("Description-Content-Type", "text/markdown"),
    ]
    head = "".join(f"{name}: {value}\n" for name, value in fields)
    return f"{head}\n{(ROOT / project['readme']).read_text('utf-8')}".encode()


def _hash(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
