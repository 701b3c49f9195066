"""What may go wrong, drawn by dice: on links, in processes, and with those that were replaced and live on."""

from __future__ import annotations

from collections.abc import Callable

from support.simulation.cluster import Cluster, Pod

#: how long those who were replaced live on after they have been let back in
AFTERLIFE = 0.5
#: how often to look for a better moment
MOMENT = 0.002


class Nemesis:
    """Plans faults and carries them out."""

    def __init__(self, cluster: Cluster, span: float) -> None:
        self._cluster = cluster
        self._world = cluster.world
        self._dice = cluster.world.dice
        self._span = span
        #: when the last fault is over
        self.over_at = 0.0
        self.kinds: list[str] = []

    def plan(self, kinds: tuple[str, ...], count: int) -> None:
        """Faults at random moments; some come in pairs."""
        for _ in range(count):
            at = 0.05 + self._dice.random() * self._span
            for kind in self._dice.choices(kinds, k=self._dice.choice((1, 1, 2))):
                self.kinds.append(kind)
                self._world.at(at, getattr(self, f"_{kind}"))
                self._lasts_until(at)

    def _reset(self, tries: int = 20) -> None:
        """Best while something is on its way."""
        one, other = self._two_pods()
        hit = self._cluster.network.on_the_way(one, other)
        if not hit and tries:
            self._lasts_until(self._world.now + MOMENT)
            self._world.after(MOMENT, lambda: self._reset(tries - 1))
            return
        self._cluster.network.reset(one, other)
        self._world.note(f"reset between {one.name} and {other.name}, {hit} messages on their way")
        if self._dice.random() < 0.3:
            self._again(self._reset)

    def _cut(self) -> None:
        one, other = self._two_pods()
        seconds = self._some_time(3.0)
        self._cluster.network.cut(one, other, seconds)
        self._world.note(f"cut from {one.name} to {other.name} for {seconds:.2f} s")

    def _cut_both_ways(self) -> None:
        one, other = self._two_pods()
        seconds = self._some_time(3.0)
        self._isolate(one, [other], seconds)
        if self._dice.random() < 0.3:
            # While nothing gets through, a connection is given up as well.
            self._world.after(seconds / 2, lambda: self._give_up(one, other))

    def _give_up(self, one: Pod, other: Pod) -> None:
        self._cluster.network.reset(one, other)

    def _echo(self) -> None:
        pod = self._some_pod()
        self._world.note(f"{self._cluster.network.echo(pod)} batches come again in {pod.name}")
        if self._dice.random() < 0.7:
            self._again(self._echo)

    def _kill_instance(self) -> None:
        pod = self._some_pod()
        task = self._dice.choice(list(pod.instances))
        self._cluster.kill_instance(pod, task, self._some_time(0.5))

    def _kill_manager(self) -> None:
        """It stands still first, so that something is on its way to it."""
        pod = self._some_pod()
        still = self._some_time(0.05)
        if pod.manager is not None:
            pod.manager.freeze(still)
        restart_after = self._some_time(0.5)
        self._lasts_until(self._world.now + still + restart_after)
        self._world.after(still, lambda: self._cluster.kill_manager(pod, restart_after))

    def _kill_container(self) -> None:
        pod = self._some_pod()
        self._cluster.kill_pod(pod)
        self._world.after(self._some_time(0.5), lambda: self._replace(pod))

    def _kill_unheard(self) -> None:
        """A container works on without being heard, and then ends: nobody knows how far it came."""
        pod = self._some_pod()
        for other in self._cluster.pods.values():
            if other is not pod:
                self._cluster.network.cut(pod, other, self._some_time(1.0))
        self._world.note(f"{pod.name} is not heard any more")
        self._world.after(self._some_time(0.1), lambda: self._end(pod))

    def _end(self, pod: Pod) -> None:
        self._cluster.kill_pod(pod)
        self._world.after(self._some_time(0.3), lambda: self._replace(pod))

    def _freeze(self) -> None:
        pod = self._some_pod()
        victims = [pod.manager, *pod.instances.values()]
        victim = self._dice.choice([one for one in victims if one is not None])
        seconds = self._some_time(2.0)
        victim.freeze(seconds)
        self._world.note(f"freeze {victim.name} for {seconds:.2f} s")

    def _zombie_instance(self) -> None:
        """A task is started again while its predecessor is still at work."""
        pod = self._some_pod()
        if pod.lost:
            return
        task = self._dice.choice(list(pod.instances))
        zombie = pod.instances[task]
        self._cluster.start_instance(pod, task)
        self._world.after(self._some_time(1.0), zombie.kill)

    def _zombie_container(self) -> None:
        """A container is cut off, given up and replaced; then its road is free again."""
        pod = self._some_pod()
        others = [other for other in self._cluster.pods.values() if other is not pod]
        away = self._some_time(1.5)
        self._isolate(pod, others, away)
        self._world.after(away * self._dice.random(), lambda: self._replace(pod))
        self._world.after(away + AFTERLIFE, lambda: self._cluster.kill_pod(pod))
        self._lasts_until(self._world.now + away + AFTERLIFE)

    def _replace(self, pod: Pod) -> None:
        if self._cluster.pods[pod.container] is pod:
            pod.lost = True
            self._cluster.start_pod(pod.container)

    def _isolate(self, pod: Pod, others: list[Pod], seconds: float) -> None:
        self._world.note(f"cut off {pod.name} from {[other.name for other in others]} for {seconds:.2f} s")
        for other in others:
            self._cluster.network.cut(pod, other, seconds)
            self._cluster.network.cut(other, pod, seconds)

    def _again(self, fault: Callable[[], None]) -> None:
        self._world.after(self._some_time(0.2), fault)

    def _some_pod(self) -> Pod:
        return self._dice.choice(list(self._cluster.pods.values()))

    def _two_pods(self) -> tuple[Pod, Pod]:
        one, other = self._dice.sample(list(self._cluster.pods.values()), 2)
        return one, other

    def _some_time(self, longest: float) -> float:
        """Short ones more often than long ones."""
        seconds = longest * self._dice.random() ** 2
        self._lasts_until(self._world.now + seconds)
        return seconds

    def _lasts_until(self, time: float) -> None:
        self.over_at = max(self.over_at, time)
