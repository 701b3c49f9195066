"""A warm, single-threaded process that forks the children of one executor."""

from __future__ import annotations

import array
import contextlib
import gc
import importlib
import logging
import os
import socket
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import NoReturn

import msgspec

from heronpy.container.processes.child import CRASHED, Start, configure_logging, enter
from heronpy.container.processes.roles import ROLES, roles_in
from heronpy.container.processes.title import set_title
from heronpy.kernel.config import Config
from heronpy.kernel.errors import PluginError
from heronpy.kernel.launch import Role, TopologyLaunch
from heronpy.kernel.plugin.opening import import_used
from heronpy.kernel.structs import prepare_structs

#: no request or reply is longer
MESSAGE_BYTES = 65536

#: bytes of a pool of pymalloc, and the sizes of the blocks that its pools are divided into
_POOL, _BLOCKS = 16384, range(16, 513, 16)
#: bytes of free blocks of one size between others, at the most
_MOST = 1 << 19
_EMPTY = sys.getsizeof(b"")

log = logging.getLogger(__name__)


class Forked(msgspec.Struct, frozen=True):
    """The answer to one Start."""

    incarnation: int
    #: 0 when the fork failed
    pid: int
    error: str = ""


class Zygote:
    """Serves fork requests until its socket is closed."""

    def __init__(
        self, launch: TopologyLaunch, container: int, requests: socket.socket, roles: Mapping[Role, str]
    ) -> None:
        self._launch = launch
        self._container = container
        self._requests = requests
        self._roles = roles
        #: see fill_gaps()
        self._plugs: Sequence[object] = ()

    def run(self) -> None:
        self._warm_up()
        while True:
            data, ancillary, _, _ = self._requests.recvmsg(MESSAGE_BYTES, socket.CMSG_SPACE(4))
            if not data:
                return
            start = msgspec.json.decode(data, type=Start)
            lifeline = _descriptor(ancillary)
            try:
                reply = self._fork(start, lifeline)
            finally:
                os.close(lifeline)
            with contextlib.suppress(BrokenPipeError):
                self._requests.send(msgspec.json.encode(reply))

    def _warm_up(self) -> None:
        for role in roles_in(self._container):
            module = self._roles[role]
            try:
                importlib.import_module(module)
            except Exception as error:
                # the child that needs the module reports it in its own log
                log.warning("could not import %s: %s", module, error)
        # imported here once: a task that imports it when it saves or loads keeps others waiting
        try:
            import_used(Config.from_plain(self._launch.config))
        except PluginError as error:
            log.warning("%s", error)
        prepare_structs()
        # frozen objects are never visited by a child's collector, so their pages stay shared
        gc.collect()
        self._plugs = fill_gaps()
        gc.freeze()

    def _fork(self, start: Start, lifeline: int) -> Forked:
        """Fork twice, so that the child is inherited by the executor, which is a subreaper.

        The reply is sent after the intermediate process has ended: from then on the executor can wait for
        the child, and a child that died at once stays a zombie until it does.
        """
        incarnation = start.child.incarnation
        reader, writer = os.pipe()
        try:
            between = os.fork()
        except OSError as error:
            os.close(reader)
            os.close(writer)
            return Forked(incarnation, 0, str(error))
        if between == 0:
            os.close(reader)
            self._fork_again(start, lifeline, writer)
        os.close(writer)
        with open(reader, "rb") as pipe:
            answer = pipe.read()
        os.waitpid(between, 0)
        if not answer.isdigit():
            return Forked(incarnation, 0, answer.decode(errors="replace") or "the fork ended early")
        return Forked(incarnation, int(answer))

    def _fork_again(self, start: Start, lifeline: int, answer: int) -> None:
        try:
            pid = os.fork()
        except OSError as error:
            os.write(answer, str(error).encode())
            os._exit(1)
        if pid == 0:
            _close_all_but(lifeline)
            child = msgspec.structs.replace(start.child, lifeline=lifeline)
            enter(self._launch, Start(child, start.log), self._roles)
        os.write(answer, str(pid).encode())
        os._exit(0)


def fill_gaps() -> list[object]:
    """Objects in all free blocks that lie between others, to be kept.

    The first objects of a child would be put there, and for each a page would cease to be shared.
    """
    kept: list[object] = []
    for size in _BLOCKS:
        last, in_a_row = 0, 0
        for number in range(_MOST // size):
            made = object() if size == 16 else float(number) if size == 32 else bytes(size - _EMPTY)
            kept.append(made)
            in_a_row = in_a_row + 1 if id(made) == last + size else 0
            last = id(made)
            if in_a_row == _POOL // size // 2:  # blocks of a pool that was empty follow one another
                break
    return kept


def _descriptor(ancillary: Sequence[tuple[int, int, bytes]]) -> int:
    ((_, _, data),) = ancillary
    return array.array("i", data)[0]


def _close_all_but(lifeline: int) -> None:
    os.closerange(3, lifeline)
    os.closerange(lifeline + 1, os.sysconf("SC_OPEN_MAX"))


def serve(launch: TopologyLaunch, container: int, requests: socket.socket, roles: Mapping[Role, str]) -> None:
    """Be the zygote of a container until its executor lets go of the socket."""
    set_title("zygote", f"heronpy: {launch.topology} zygote (container {container})", launch.work)
    configure_logging(launch)
    Zygote(launch, container, requests, roles).run()


def serve_forked(
    launch: TopologyLaunch, container: int, requests: socket.socket, roles: Mapping[Role, str]
) -> NoReturn:
    """The same in a fork of the executor, of which it keeps what is imported and no descriptor."""
    code = CRASHED
    try:
        _close_all_but(requests.fileno())
        serve(launch, container, requests, roles)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def main(argv: Sequence[str], roles: Mapping[Role, str] = ROLES) -> None:
    """`python -m heronpy.container.processes.zygote LAUNCH_FILE CONTAINER_ID FD`."""
    launch_file, container, descriptor = argv
    launch = TopologyLaunch.read_or_exit(launch_file)
    with socket.socket(fileno=int(descriptor)) as requests:
        serve(launch, int(container), requests, roles)


if __name__ == "__main__":
    main(sys.argv[1:])
