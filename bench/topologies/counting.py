"""Spouts that end when they are asked to, and bolts that count: both write down what they have done.

While it runs, every task of the bolt writes down with every tick how many tuples it has seen. Once there is a
file `stop`, the spouts finish; then `sent-TASK` and `received-TASK` have how many tuples a task has sent or
received, a sum over them, and how many tasks its component has.
"""

import json
import time

from heronpy import Bolt, Spout

#: seconds between two looks whether to stop
LOOK = 0.25


def note(folder, name, context, tuples, total):
    """A file that is there as a whole or not at all."""
    tasks = len(context.get_component_tasks(context.get_component_id()))
    file = f"{name}-{context.get_task_id()}"
    (folder / f"new-{file}").write_text(json.dumps([tuples, total, tasks]))
    (folder / f"new-{file}").replace(folder / file)


class Ending(Spout):
    """`send` emits some tuples; `sent` is how many so far, `total` a sum that the bolts must arrive at."""

    def initialize(self, config, context):
        self.sent = self.total = 0
        self.context, self.look_at = context, 0.0

    def next_tuple(self):
        now = time.monotonic()
        if now >= self.look_at:
            self.look_at = now + LOOK
            if (self.notes / "stop").exists():
                note(self.notes, "sent", self.context, self.sent, self.total)
                self.finish()
                return
        self.send(now)


class Counting(Bolt):
    """`seen` and `total` are the same of what has come."""

    def initialize(self, config, context):
        self.seen = self.total = 0
        self.context = context
        self.progress = (self.notes / f"seen-{context.get_task_id()}").open("a", buffering=1)

    def process_tick(self, tup):
        self.progress.write(f"{time.monotonic()} {self.seen}\n")

    def end_of_input(self):
        note(self.notes, "received", self.context, self.seen, self.total)
