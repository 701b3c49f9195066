"""A container for tests of schedulers that ship files: says what it found where it started, then waits."""

import json
import os
import stat
import sys
from pathlib import Path

folder, container, *words = sys.argv[1:]
report = {
    "pid": os.getpid(),
    "python": sys.executable,
    "session": os.getsid(0),
    "environment": dict(os.environ),
    "words": words,
    "modes": {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in Path.cwd().iterdir()},
    "secret": Path("a.secret").read_text(),
    "cwd": str(Path.cwd()),
}
draft = Path(folder) / f"{container}.{os.getpid()}.new"
draft.write_text(json.dumps(report))
draft.rename(draft.with_suffix(".json"))
print("error: what it said last", file=sys.stderr, flush=True)
ended = sys.stdin.read()
sys.exit(78)
