"""What plugin authors implement (interfaces), announce (hookspecs), and how it is found (registry)."""

from heronpy.kernel.plugin.checkpoint_store import CheckpointStore
from heronpy.kernel.plugin.hookspecs import hookimpl
from heronpy.kernel.plugin.metric_sink import MetricSink
from heronpy.kernel.plugin.registry import Registry
from heronpy.kernel.plugin.resource_manager import ResourceManager
from heronpy.kernel.plugin.runner import Runner, RunTotals, UnsupportedOnRunner
from heronpy.kernel.plugin.scheduler import ContainerExit, Launch, Launcher, Scheduler, Shipped
from heronpy.kernel.plugin.state_manager import Node, StateManager, Watch
from heronpy.kernel.plugin.uploader import Uploader

__all__ = [
    "CheckpointStore",
    "ContainerExit",
    "Launch",
    "Launcher",
    "MetricSink",
    "Node",
    "Registry",
    "ResourceManager",
    "RunTotals",
    "Runner",
    "Scheduler",
    "Shipped",
    "StateManager",
    "UnsupportedOnRunner",
    "Uploader",
    "Watch",
    "hookimpl",
]
