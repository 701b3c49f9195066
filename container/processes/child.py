"""What happens in a new process between its start and the code of its role."""

from __future__ import annotations

import io
import logging
import os
import random
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import NoReturn

import msgspec

from heronpy.container.processes.roles import ROLES, load
from heronpy.container.processes.title import set_title
from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError
from heronpy.kernel.launch import Child, Role, TopologyLaunch
from heronpy.kernel.logs.log_rotation import Caps, cap_output, line_writer
from heronpy.kernel.logs.rate_limited import Repeats

#: EX_SOFTWARE: the role's code let an exception out
CRASHED = 70

FORMATTER = logging.Formatter("%(asctime)s %(levelname)s [%(name)s] %(message)s")


class Start(msgspec.Struct, frozen=True):
    """All that a new child is given; `child.lifeline` is the descriptor of its socket."""

    child: Child
    log: str


def enter(launch: TopologyLaunch, start: Start, roles: Mapping[Role, str] = ROLES) -> NoReturn:
    """Become the child: never returns into the code that started the process."""
    code = CRASHED
    try:
        # so that whatever it forks can be ended with it
        os.setpgid(0, 0)
        _own_stdio(start.log)
        _restore_signals()
        child = start.child
        title = f"heronpy: {launch.topology} {child.name} (container {child.container})"
        set_title(child.name, title, launch.work)
        configure_logging(launch)
        random.seed()
        code = load(roles, start.child.role)(launch, start.child)
    except SystemExit as leaving:
        code = _code_of(leaving)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        code = error.exit_code
    except BaseException:
        traceback.print_exc()
    finally:
        _flush()
        os._exit(code)


def configure_logging(launch: TopologyLaunch) -> None:
    """Log lines go to standard error, which is a file by then and does not outgrow its cap."""
    config = Config.from_plain(launch.config)
    cap_output(launch.logs, log_caps(config))
    handler, root = logging.StreamHandler(), logging.getLogger()
    handler.setFormatter(FORMATTER)
    handler.addFilter(Repeats())
    root.handlers[:] = [handler]
    # setLevel() visits every logger; a child shares the pages of these with its zygote, which has set it
    if logging.getLevelName(root.level) != config.text("log.level"):
        root.setLevel(config.text("log.level"))


def log_caps(config: Config) -> Caps:
    """How large the log of each process may become."""
    return Caps(config["log.max_bytes"], config["log.files"])


def _own_stdio(log: str) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for source, target in ((null, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    os.close(null)
    os.close(output)
    sys.stdout, sys.stderr = (line_writer(io.FileIO(each, "w", closefd=False)) for each in (1, 2))


def _restore_signals() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _code_of(leaving: SystemExit) -> int:
    if leaving.code is None or isinstance(leaving.code, int):
        return (leaving.code or 0) & 0xFF
    print(leaving.code, file=sys.stderr)
    return 1


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            # a full disk must not change the exit code
            continue


def main(argv: Sequence[str], roles: Mapping[Role, str] = ROLES) -> NoReturn:
    """`python -m heronpy.container.processes.child LAUNCH_FILE START`: the way out of the zygote."""
    launch_file, start = argv
    enter(TopologyLaunch.read_or_exit(launch_file), msgspec.json.decode(start, type=Start), roles)


if __name__ == "__main__":
    main(sys.argv[1:])
