"""The operating system's file cache: drops the pages of files, without root, and counts those that stayed."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

_MAPPED_AT_ONCE = 1024**3
"""Bytes of a file that are mapped and checked at a time."""


def drop(files: Iterable[Path]) -> None:
    """Write files to disk and drop their pages from the file cache; pages that a process has mapped stay.

    Raises:
        OSError: a file cannot be opened.
    """
    for file in files:
        descriptor = os.open(file, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def cached(files: Iterable[Path]) -> int:
    """Return how many bytes of files the file cache holds; raise OSError where a file cannot be opened or mapped."""
    return sum(_cached(file) for file in files)


def _cached(file: Path) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    size, in_cache = file.stat().st_size, 0
    for begin in range(0, size, _MAPPED_AT_ONCE):
        length = min(_MAPPED_AT_ONCE, size - begin)
        # A private mapping that nobody reads: only its address is needed, which numpy has.
        mapped = np.memmap(file, dtype=np.uint8, mode="c", offset=begin, shape=(length,))
        resident = np.zeros(-(-length // mmap.PAGESIZE), dtype=np.uint8)
        if libc.mincore(ctypes.c_void_p(mapped.ctypes.data), ctypes.c_size_t(length), ctypes.c_void_p(resident.ctypes.data)):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(file))
        in_cache += int((resident & 1).sum()) * mmap.PAGESIZE
    return min(in_cache, size)
