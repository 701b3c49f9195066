"""Counts clicks in windows of time: side by side (tumbling) and overlapping (sliding).

Run it:
    heronpy submit examples/windowed.py
    heronpy logs Windowed -f
    heronpy kill Windowed
"""

import itertools
import time
from collections import Counter

from heronpy import SlidingWindowBolt, Spout, Topology, TumblingWindowBolt


class Clicks(Spout):
    outputs = ["page"]

    def initialize(self, config, context):
        self.pages = itertools.cycle(["home", "search", "search", "cart"])

    def next_tuple(self):
        self.emit([next(self.pages)])
        time.sleep(0.01)


class PerWindow(TumblingWindowBolt):
    """Each click is in one window. A window is the time between two calls of processWindow."""

    def processWindow(self, window_info, tuples):  # noqa: N802 - the API's name
        pages = Counter(tup.page for tup in tuples)
        self.log(f"{window_info.start:.0f} to {window_info.end:.0f}: {dict(pages)}")


class Trend(SlidingWindowBolt):
    """Called each second with the clicks of the last three."""

    def processWindow(self, window_info, tuples):  # noqa: N802 - the API's name
        self.log(f"{len(tuples)} clicks in the last {self.window_duration} s")


class Windowed(Topology):
    clicks = Clicks.spec(par=2)
    per_window = PerWindow.spec(inputs=[clicks], config={PerWindow.WINDOW_DURATION_SECS: 2})
    trend = Trend.spec(
        inputs=[clicks],
        config={Trend.WINDOW_DURATION_SECS: 3, Trend.WINDOW_SLIDEINTERVAL_SECS: 1},
    )
