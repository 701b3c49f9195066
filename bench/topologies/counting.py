"""A bolt that writes down with every tick how many tuples it has seen, and when."""

import time

from heronpy import Bolt


class Counting(Bolt):
    def initialize(self, config, context):
        self.seen = 0
        self.progress = (self.notes / f"seen-{context.get_task_id()}").open("a", buffering=1)

    def process_tick(self, tup):
        self.progress.write(f"{time.monotonic()} {self.seen}\n")
