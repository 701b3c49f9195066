"""A topology that runs in the simulated world: containers, their processes, and who replaces whom."""

from __future__ import annotations

import itertools

import msgspec
from support.simulation.components import Ledger, Source
from support.simulation.instance import Instance
from support.simulation.manager import Manager
from support.simulation.network import Network
from support.simulation.shapes import Shape
from support.simulation.world import World

from heronpy.kernel.errors import NodeMissing
from heronpy.kernel.master.knowledge.tuple_losses import TupleLosses
from heronpy.kernel.plugin.state_manager import Node
from heronpy.kernel.tree.paths import Registration, Tree

#: by then a process that is to die has died
SOON = 0.02


class State:
    """The state tree, as far as Stream Managers read it."""

    def __init__(self) -> None:
        self._nodes: dict[str, bytes] = {}

    def get(self, path: str) -> Node:
        if path not in self._nodes:
            raise NodeMissing(path)
        return Node(self._nodes[path], 1)

    def set(self, path: str, value: bytes) -> None:
        self._nodes[path] = value

    def managers(self, tree: Tree) -> dict[int, int]:
        """Container → incarnation of its Stream Manager."""
        found = {}
        for container in range(1, 10):
            value = self._nodes.get(tree.stream_manager(container))
            if value is not None:
                found[container] = msgspec.json.decode(value, type=Registration).incarnation
        return found


class Pod:
    """A container on some machine. One that has been replaced may go on elsewhere for a while."""

    def __init__(self, container: int, name: str) -> None:
        self.container = container
        self.name = name
        #: where its Stream Manager listens for its instances
        self.data = f"ipc-{name}"
        self.manager: Manager | None = None
        self.instances: dict[int, Instance] = {}
        #: replaced, and out of touch with the state tree
        self.lost = False


class Cluster:
    """Starts, kills and replaces processes, as executors and the scheduler would."""

    def __init__(self, world: World, shape: Shape) -> None:
        self.world = world
        self.shape = shape
        self.plan = shape.plan
        self.costs = shape.costs
        self.network = Network(world)
        self.state = State()
        self.ledger = Ledger()
        #: the master's
        self.losses = TupleLosses(shape.plan)
        self._incarnations = itertools.count(1)
        self._names = itertools.count(1)
        #: frames of replaced processes that reached somebody who knew
        self.fenced = 0
        self.sources = {
            task.id: Source(task.id, replays=shape.tracked) for task in self.plan.tasks_of("numbers")
        }
        #: container → the pod that counts
        self.pods: dict[int, Pod] = {}
        #: every process there ever was
        self.instances: list[Instance] = []
        self.managers: list[Manager] = []
        for container in self.plan.containers():
            self.start_pod(container)

    def start_pod(self, container: int) -> Pod:
        """A container, or its successor."""
        pod = Pod(container, f"{container}.{next(self._names)}")
        self.pods[container] = pod
        self.start_manager(pod)
        for task in self.plan.tasks:
            if task.container == container:
                self.start_instance(pod, task.id)
        return pod

    def start_manager(self, pod: Pod) -> None:
        pod.manager = Manager(self, pod, next(self._incarnations))
        self.managers.append(pod.manager)
        if not pod.lost:
            pod.manager.register()
            self.tell_managers()
        self.world.note(f"start {pod.manager.name}")

    def start_instance(self, pod: Pod, task_id: int) -> None:
        instance = Instance(self, pod, task_id, next(self._incarnations))
        pod.instances[task_id] = instance
        self.instances.append(instance)
        self.world.note(f"start {instance.name} in {pod.name}")

    def tell_managers(self) -> None:
        """Each hears of new registrations a little later, and not at the same time."""
        for pod in self.pods.values():
            if pod.manager is not None:
                self.world.after(0.03 * self.world.dice.random(), pod.manager.refresh)

    def kill_instance(self, pod: Pod, task_id: int, restart_after: float) -> None:
        """It dies in the middle of a call, most often."""
        pod.instances[task_id].doom(self.world.dice.randrange(60), SOON)
        self.world.after(SOON + restart_after, lambda: self._restart_instance(pod, task_id))

    def kill_manager(self, pod: Pod, restart_after: float) -> None:
        if pod.manager is not None:
            pod.manager.kill()
            self.world.after(restart_after, lambda: self._restart_manager(pod))

    def kill_pod(self, pod: Pod) -> None:
        """Everything in a container ends at once."""
        pod.lost = True
        if pod.manager is not None:
            pod.manager.kill()
        for instance in pod.instances.values():
            instance.kill()

    def _restart_instance(self, pod: Pod, task_id: int) -> None:
        if not pod.lost and not pod.instances[task_id].alive:
            self.start_instance(pod, task_id)

    def _restart_manager(self, pod: Pod) -> None:
        if not pod.lost and pod.manager is not None and not pod.manager.alive:
            self.start_manager(pod)

    @property
    def at_rest(self) -> bool:
        """Whether nothing is on its way any more, anywhere that counts."""
        for pod in self.pods.values():
            manager = pod.manager
            if manager is None or not manager.alive:
                return False
            if manager.forwarder.backlog or manager.forwarder.unconfirmed:
                return False
            for instance in pod.instances.values():
                parts = instance.task.parts
                if not instance.alive or instance.task.loop.has_input or parts.outbox.waiting:
                    return False
        return all(source.exhausted for source in self.sources.values())
