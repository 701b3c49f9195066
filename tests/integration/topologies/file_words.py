"""Word count of a file, for tests that interfere while it runs: FILE FOLDER BRAKE.

Lines are read slowly while there is a file BRAKE. The counts are printed, and written into FOLDER.
"""

import sys
import time
from pathlib import Path

from heronpy import Pipeline
from heronpy.pipeline import sinks, sources

source, folder, brake = sys.argv[1:]
#: lines between two looks at the brake
SOME = 50
passed = 0


def words_of(line: str) -> list[str]:
    global passed
    passed += 1
    if passed % SOME == 0 and Path(brake).exists():
        time.sleep(0.02)
    return line.split()


p = Pipeline("file-words")
words = p.read(sources.lines(source), name="lines").flat_map(words_of, name="words")
counts = words.key_by(str.lower, name="lower").count(name="count", par=2)
shown = counts.map(lambda pair: f"{pair[0]} {pair[1]}", name="shown")
shown.write(sinks.files(folder), name="files")
shown.write(sinks.printed(), name="printed")
p.run()
