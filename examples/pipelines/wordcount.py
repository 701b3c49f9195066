"""How often each word is in a book.

Run it in this folder:
    python wordcount.py
    heronpy run wordcount.py
    heronpy run wordcount.py --runner engine
"""

from heronpy import Pipeline
from heronpy.pipeline import sinks, sources

p = Pipeline("wordcount")
(p.read(sources.lines("book.txt"))
  .flat_map(str.split)
  .key_by(str.lower).count()
  .write(sinks.printed()))  # fmt: skip
p.run()
