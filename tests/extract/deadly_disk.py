"""A disk that kills the process that writes a block to it."""

import os
import signal

from bv_search.files import Disk


class DeadlyDisk(Disk):
    def write_at(self, handle: int, data: memoryview, offset: int) -> None:
        os.kill(os.getpid(), signal.SIGKILL)
