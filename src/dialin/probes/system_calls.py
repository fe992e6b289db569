"""The names of the system calls that servers make, by their number, which differs by architecture."""

from __future__ import annotations

import platform
from functools import cache

_X86_64 = """
0 read 1 write 2 open 3 close 4 stat 5 fstat 7 poll 8 lseek 9 mmap 10 mprotect 11 munmap 12 brk 13 rt_sigaction
14 rt_sigprocmask 16 ioctl 17 pread64 18 pwrite64 19 readv 20 writev 21 access 23 select 24 sched_yield 25 mremap
26 msync 28 madvise 35 nanosleep 39 getpid 41 socket 42 connect 43 accept 44 sendto 45 recvfrom 46 sendmsg 47 recvmsg
48 shutdown 54 setsockopt 55 getsockopt 56 clone 60 exit 72 fcntl 74 fsync 75 fdatasync 76 truncate 77 ftruncate
82 rename 87 unlink 96 gettimeofday 98 getrusage 128 rt_sigtimedwait 186 gettid 202 futex 203 sched_setaffinity
204 sched_getaffinity 206 io_setup 207 io_destroy 208 io_getevents 209 io_submit 219 restart_syscall 221 fadvise64
228 clock_gettime 230 clock_nanosleep 232 epoll_wait 233 epoll_ctl 234 tgkill 257 openat 262 newfstatat 263 unlinkat
264 renameat 270 pselect6 271 ppoll 277 sync_file_range 281 epoll_pwait 285 fallocate 288 accept4 295 preadv
296 pwritev 309 getcpu 318 getrandom 324 membarrier 327 preadv2 328 pwritev2 332 statx 333 io_pgetevents 334 rseq
425 io_uring_setup 426 io_uring_enter 427 io_uring_register 435 clone3 441 epoll_pwait2 449 futex_waitv
454 futex_wake 455 futex_wait
"""
"""Of 64-bit programs (the kernel's arch/x86/entry/syscalls/syscall_64.tbl)."""

_GENERIC = """
0 io_setup 1 io_destroy 2 io_submit 4 io_getevents 21 epoll_ctl 22 epoll_pwait 25 fcntl 29 ioctl 35 unlinkat
38 renameat 45 truncate 46 ftruncate 47 fallocate 56 openat 57 close 62 lseek 63 read 64 write 65 readv 66 writev
67 pread64 68 pwrite64 69 preadv 70 pwritev 72 pselect6 73 ppoll 79 newfstatat 80 fstat 82 fsync 83 fdatasync
84 sync_file_range 93 exit 98 futex 101 nanosleep 113 clock_gettime 115 clock_nanosleep 122 sched_setaffinity
123 sched_getaffinity 124 sched_yield 128 restart_syscall 131 tgkill 134 rt_sigaction 135 rt_sigprocmask
137 rt_sigtimedwait 165 getrusage 168 getcpu 169 gettimeofday 172 getpid 178 gettid 198 socket 202 accept 203 connect
206 sendto 207 recvfrom 208 setsockopt 209 getsockopt 210 shutdown 211 sendmsg 212 recvmsg 214 brk 215 munmap
216 mremap 220 clone 222 mmap 223 fadvise64 226 mprotect 227 msync 233 madvise 242 accept4 278 getrandom
283 membarrier 286 preadv2 287 pwritev2 291 statx 292 io_pgetevents 293 rseq 425 io_uring_setup 426 io_uring_enter
427 io_uring_register 435 clone3 441 epoll_pwait2 449 futex_waitv 454 futex_wake 455 futex_wait
"""
"""Of architectures without a table of their own, as arm64 and riscv64 (the kernel's include/uapi/asm-generic/unistd.h)."""

_TABLES = {"x86_64": _X86_64, "aarch64": _GENERIC, "arm64": _GENERIC, "riscv64": _GENERIC, "loongarch64": _GENERIC}


@cache
def _names(machine: str) -> dict[int, str]:
    words = _TABLES.get(machine, "").split()
    return {int(number): name for number, name in zip(words[::2], words[1::2], strict=True)}


def name_of_call(number: int, machine: str | None = None) -> str:
    """Return the name of a system call on this machine; its number where servers seldom make it."""
    return _names(machine or platform.machine()).get(number, f"system call {number}")
