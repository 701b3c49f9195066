"""Apache Heron's streamlets: words of the last ten seconds, and which of them have become more.

heronpy run examples/streamlets.py words         # in this process, until Ctrl-C
heronpy submit examples/streamlets.py words
heronpy logs words log-1
heronpy kill words
"""

import random
import sys
import time

from heronpy.streamlet.builder import Builder
from heronpy.streamlet.config import Config
from heronpy.streamlet.generator import Generator
from heronpy.streamlet.runner import Runner
from heronpy.streamlet.transformoperator import TransformOperator
from heronpy.streamlet.windowconfig import WindowConfig

WORDS = ["to", "be", "or", "not", "that", "is", "the", "question"]


class Speaker(Generator):
    """Two words each time; which one it is fond of changes now and then."""

    def setup(self, context):
        self.random = random.Random(context.get_partition_index())
        self.favourite = WORDS[0]

    def get(self):
        time.sleep(0.001)
        if self.random.random() < 0.001:
            self.favourite = self.random.choice(WORDS)
        return f"{self.favourite} {self.random.choice(WORDS)}"


class Rising(TransformOperator):
    """Passes on a word that is more frequent than it was in the last window."""

    def setup(self, context):
        self.context, self.counts = context, context.get_state()

    def transform(self, tup):
        word, window, count = tup.values[0]
        if count > self.counts.get(word, 0):
            self.context.emit(f"{window}: {word} {count} times")
        self.counts.put(word, count)


if __name__ == "__main__":
    builder = Builder()
    words = builder.new_source(Speaker()).set_num_partitions(2).flat_map(str.split)
    counts = words.map(lambda word: (word, 1)).reduce_by_key_and_window(
        WindowConfig.create_sliding_window(10, 2), lambda x, y: x + y
    )
    counts.map(lambda found: (found[0].get_key(), found[0].get_window(), found[1])).transform(Rising()).log()
    config = Config()
    config.set_delivery_semantics(Config.EFFECTIVELY_ONCE)
    Runner().run(sys.argv[1], config, builder)
