"""The state of a task: which mapping it gets, how that is saved, and how it comes back."""

from heronpy.instances.saving.state.state_loader import NOTES, STATE, Saved, load_checkpoint, load_handovers
from heronpy.instances.saving.state.state_saver import Saver
from heronpy.instances.saving.state.task_state import TaskState

__all__ = ["NOTES", "STATE", "Saved", "Saver", "TaskState", "load_checkpoint", "load_handovers"]
