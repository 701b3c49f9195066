"""What travels to workers on other machines: heronpy with what it needs, the user's code and requirements."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from heronpy.container.remote.parcel.archive import sha256_of, write_archive
from heronpy.container.remote.parcel.code import code_files, relocated
from heronpy.container.remote.parcel.distributions import files_of, with_requirements
from heronpy.container.remote.parcel.parcel import ENGINE, wanted_by_user
from heronpy.kernel.config import Config
from heronpy.kernel.plans import Source

#: folders of the archive: heronpy and what the user requires; what heronpy requires, unless it is there
_SITE, _SPARE = "site", "spare"


def write_code(folder: Path, config: Config, source: Source) -> Path:
    """An archive of all code that a worker may need; it is called by its content."""
    draft = folder / "code.zip"
    with tempfile.TemporaryDirectory(prefix="heronpy-requirements-") as wanted:
        files = dict(wanted_by_user(config, Path(wanted)))
        files.update(_engine())
        if source.file:
            files.update(code_files(source, config.integer("upload.limit")))
        write_archive(draft, {}, files.items())
    return draft.rename(folder / f"pipeline-{sha256_of(draft)[:16]}.zip")


def folders(source: Source) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The folders of the archive that come first on a worker's sys.path, and those that come last."""
    own = relocated(source).paths if source.file else ()
    return (*own, _SITE), (_SPARE,)


def _engine() -> Iterator[tuple[str, Path]]:
    for distribution in with_requirements([ENGINE]):
        place = _SITE if distribution.metadata["Name"] == ENGINE else _SPARE
        for name, file in files_of(distribution):
            yield f"{place}/{name}", file
