"""The sources of rules: page, manual, publisher and address."""

import re


def _mysql(page: str, file: str, version: str = "8.4") -> str:
    return f"{page}, MySQL {version} manual (Oracle), dev.mysql.com/doc/refman/{version}/en/{file}.html"


def _mariadb(page: str, file: str) -> str:
    return f"{page}, MariaDB documentation, mariadb.com/kb/en/{file}"


def _man(page: str) -> str:
    return f"{page}(5), Linux man-pages, man7.org/linux/man-pages/man5/{page}.5.html"


def _kernel(page: str, file: str) -> str:
    return f"{page}, Linux kernel documentation, docs.kernel.org/{file}.html"


STATUS = _mysql("Server Status Variables", "server-status-variables")
SEMAPHORES = _mysql("InnoDB Standard Monitor Output (SEMAPHORES)", "innodb-standard-monitor")
SPINNING = _mysql("Configuring Spin Lock Polling", "innodb-performance-spin_lock_polling")
MUTEXES = _mysql("SHOW ENGINE Statement (INNODB MUTEX)", "show-engine")
WAIT_SUMMARIES = _mysql("Wait Event Summary Tables", "performance-schema-wait-summary-tables")
FILE_SUMMARIES = _mysql("File I/O Summary Tables", "performance-schema-file-summary-tables")
DIGESTS = _mysql("Performance Schema Summary Tables (by digest)", "performance-schema-summary-tables")
WAIT_HISTORY = _mysql("Wait Event Tables (events_waits_history_long)", "performance-schema-wait-tables")
ADAPTIVE_HASH = _mysql("Adaptive Hash Index", "innodb-adaptive-hash")
CHANGE_BUFFER = _mysql("Change Buffer", "innodb-change-buffer")
BUFFER_POOL = _mysql("Buffer Pool", "innodb-buffer-pool")
FLUSHING = _mysql("Configuring Buffer Pool Flushing", "innodb-buffer-pool-flushing")
IO_CAPACITY = _mysql("Configuring InnoDB I/O Capacity", "innodb-configuring-io-capacity")
REDO_LOG = (
    f"{_mysql('Redo Log', 'innodb-redo-log')}; pages are flushed for it from seven eighths of what it may hold: "
    "77.8 % of innodb_redo_log_capacity, 70.9 % of innodb_log_file_size × innodb_log_files_in_group (InnoDB's source, log0log)"
)
LOG_BUFFER = _mysql("Optimizing InnoDB Redo Logging", "optimizing-innodb-logging")
DURABILITY = _mysql("InnoDB Startup Options", "innodb-parameters")
PURGE = _mysql("Purge Configuration", "innodb-purge-configuration")
CONCURRENCY = _mysql("Configuring Thread Concurrency for InnoDB", "innodb-performance-thread_concurrency")
TABLE_CACHE = _mysql("How MySQL Opens and Closes Tables", "table-cache")
THREAD_CACHE = _mysql("Connection Interfaces", "connection-interfaces")
CONNECTIONS = _mysql("Too many connections", "too-many-connections")
TEMPORARY = _mysql("Internal Temporary Table Use", "internal-temporary-tables")
SORTING = _mysql("ORDER BY Optimization", "order-by-optimization")
READ_BUFFER = _mysql("Server System Variables (read_buffer_size)", "server-system-variables")
KEY_CACHE = _mysql("The MyISAM Key Cache", "myisam-key-cache")
ARIA_PAGE_CACHE = _mariadb("Aria Status Variables", "aria-status-variables")
QUERY_CACHE = _mysql("Query Cache Status and Maintenance", "query-cache-status-and-maintenance", "5.7")
OPEN_FILES = _mysql("File Not Found and Similar Errors", "not-enough-file-handles")
POOL_INSTANCES = _mysql("Configuring Multiple Buffer Pool Instances", "innodb-multiple-buffer-pools")
DISK_IO = _mysql("Optimizing InnoDB Disk I/O", "optimizing-innodb-diskio")
IO_THREADS = _mysql("Configuring the Number of Background InnoDB I/O Threads", "innodb-performance-multiple_io_threads")
SORT_BUFFER = _mysql("Server System Variables (sort_buffer_size)", "server-system-variables")
JOIN_BUFFER = _mysql("Server System Variables (join_buffer_size)", "server-system-variables")
GROUP_COMMIT = _mysql("Binary Logging Options and Variables (binlog_group_commit_sync_delay)", "replication-options-binary-log")
BINLOG_CACHE = _mysql("The Binary Log", "binary-log")
LOG_WRITERS = _mysql("InnoDB Startup Options and System Variables (innodb_log_writer_threads)", "innodb-parameters")
DEFAULTS = _mysql("Server System Variable Reference (defaults)", "server-system-variable-reference")
THREAD_POOL = _mariadb("Thread Pool in MariaDB", "thread-pool-in-mariadb")
PROC_IO = _man("proc_pid_io")
PROC_STAT = _man("proc_pid_stat")
PROC_STATUS = _man("proc_pid_status")
STEAL = _man("proc_stat")
RUN_QUEUE = _man("proc_stat")
DISK_STATS = _kernel("I/O statistics fields", "admin-guide/iostats")
CPU_QUOTA = _kernel("CFS Bandwidth Control", "scheduler/sched-bwc")
PRESSURE = _kernel("Pressure Stall Information", "accounting/psi")

_IN_MYSQL = re.compile(
    r"(?:MySQL manual, (?P<title>[^;]+)|(?P<page>.+?), MySQL [\d.]+ manual \(Oracle\), dev\.mysql\.com\S+?\.html)(?P<more>;.*)?"
)
_SYSTEM, _INNODB = "Server System Variables", "InnoDB System Variables"
_IN_MARIADB = {
    "Adaptive Hash Index": (_INNODB, "innodb-system-variables"),
    "Binary Logging Options and Variables": ("Group Commit for the Binary Log", "group-commit-for-the-binary-log"),
    "Buffer Pool": ("InnoDB Buffer Pool", "innodb-buffer-pool"),
    "Change Buffer": ("InnoDB Change Buffering", "innodb-change-buffering"),
    "Configuring Buffer Pool Flushing": ("InnoDB Page Flushing", "innodb-page-flushing"),
    "Configuring InnoDB I/O Capacity": ("InnoDB Page Flushing", "innodb-page-flushing"),
    "Configuring Multiple Buffer Pool Instances": ("InnoDB Buffer Pool", "innodb-buffer-pool"),
    "Configuring the Number of Background InnoDB I/O Threads": (_INNODB, "innodb-system-variables"),
    "Configuring Thread Concurrency for InnoDB": (_INNODB, "innodb-system-variables"),
    "Connection Interfaces": (_SYSTEM, "server-system-variables"),
    "How MySQL Opens and Closes Tables": ("Optimizing table_open_cache", "optimizing-table_open_cache"),
    "InnoDB Startup Configuration": ("InnoDB Buffer Pool", "innodb-buffer-pool"),
    "InnoDB Startup Options": (_INNODB, "innodb-system-variables"),
    "InnoDB Startup Options and System Variables": (_INNODB, "innodb-system-variables"),
    "Internal Temporary Table Use": (_SYSTEM, "server-system-variables"),
    "Optimizing InnoDB Disk I/O": (_INNODB, "innodb-system-variables"),
    "Optimizing InnoDB Redo Logging": ("InnoDB Redo Log", "innodb-redo-log"),
    "Purge Configuration": ("InnoDB Purge", "innodb-purge"),
    "Query Cache Status and Maintenance": ("Query Cache", "query-cache"),
    "Redo Log": ("InnoDB Redo Log", "innodb-redo-log"),
    "Server System Variable Reference": (_SYSTEM, "server-system-variables"),
    "Server System Variables": (_SYSTEM, "server-system-variables"),
    "The Binary Log": ("Binary Log", "binary-log"),
    "The MyISAM Key Cache": ("Optimizing key_buffer_size", "optimizing-key_buffer_size"),
}
"""By the page of MySQL's manual, without what is in brackets behind it: the page of MariaDB's documentation on the same."""


def in_mariadb(source: str) -> str:
    """Return a source on MySQL as MariaDB documents the same; any other source as it is."""
    match = _IN_MYSQL.fullmatch(source)
    named = (match["title"] or match["page"] or "") if match else ""
    page, bracket, variable = named.partition(" (")
    if match is None or page not in _IN_MARIADB:
        return source
    title, file = _IN_MARIADB[page]
    return f"{_mariadb(f'{title}{bracket}{variable}', file)}{match['more'] or ''}"
