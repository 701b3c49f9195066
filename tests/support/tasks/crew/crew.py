"""A topology in one process whose plan can change, with every interleaving that a seed can think of."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from support.tasks.crew.actor import Actor
from support.tasks.diced_links import DicedLinks
from support.tasks.shelf import Shelf

from heronpy.instances.execution.many_tasks import ManyTasks
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.saving.state import Saved
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.tree.update import Update

#: seconds that pass with every step
TICK = 0.0004


class Crew:
    """All tasks, the nodes of the state tree that they hear of, and the wires between them."""

    def __init__(
        self,
        plan: PhysicalPlan,
        find: Callable[[str], type[Any]],
        flow: FlowSettings,
        seed: int,
        ledger: object,
        waiter: str = "",
        links: Callable[[random.Random], DicedLinks] = DicedLinks,
    ) -> None:
        """The first task of `waiter`, a component, may wait inside emit(); no other may."""
        self.plan = plan
        self.update: Update | None = None
        self.next_plan: PhysicalPlan | None = None
        self.find = find
        self.flow = flow
        self.ledger = ledger
        self.dice = random.Random(seed)
        self.now = 0.0
        self.shelf = Shelf()
        #: of all tasks that have ended
        self.losses: Counter[str] = Counter()
        self._lives: dict[int, int] = {}
        self._waiter = waiter
        #: the task that waits inside emit() at this moment
        self._waits: int | None = None
        #: how often it has
        self.waits = 0
        #: what happens while it does
        self.meanwhile: Callable[[], None] = self.step
        self.links = links(self.dice)
        self.loop = ManyTasks(self.links, clock=lambda: self.now)
        self.actors: dict[int, Actor] = {}
        for task in plan.tasks:
            self.start(plan, task.id)

    def start(
        self, plan: PhysicalPlan, task: int, *, waits: bool = False, saved: Saved | None = None
    ) -> None:
        self._lives[task] = self._lives.get(task, 0) + 1
        placed = plan.task(task)
        may_wait = (placed.component, placed.index) == (self._waiter, 0)
        actor = self.actors[task] = Actor(
            self, plan, task, self._lives[task], waits=waits, saved=saved, may_wait=may_wait
        )
        self.loop.add(task, actor, actor.link)

    def end(self, task: int) -> None:
        actor = self.actors.pop(task)
        self.loop.remove(task)
        self.links.close(task)
        actor.end()
        counters = actor.task.parts.counters
        for name in ("missing", "maybe_lost", "rejected"):
            self.losses[name] += getattr(counters, name)

    def step(self) -> None:
        """A piece of somebody's work, or somebody hears of something."""
        self.now += TICK
        task = self.pick()
        news = self.actors[task].news
        chance = self.dice.random()
        if chance < 0.03:
            news.plan = self.plan
            news.news += 1
        elif chance < 0.1:
            news.update, news.next_plan = self.update, self.next_plan
            news.news += 1
        elif task != self._waits:
            self.loop.step(task)

    def pick(self) -> int:
        """Whose turn it is."""
        return self.dice.choice(sorted(self.actors))

    def go_on_without(self, task: int) -> None:
        """This task waits inside emit()."""
        self.waits += 1
        self._waits = task
        for _ in range(self.dice.randint(1, 50)):
            self.meanwhile()
        self._waits = None

    def close(self) -> None:
        for task in list(self.actors):
            self.end(task)
