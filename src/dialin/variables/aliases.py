"""Several names of one variable: variables that servers report twice, and options whose name differs from their variable's."""

from __future__ import annotations

from collections.abc import Container

from dialin.errors import UserError
from dialin.model.setting import canonical_name

OPTION_OF = {
    "time_zone": "default_time_zone",
    "tx_isolation": "transaction_isolation",
    "tx_read_only": "transaction_read_only",
}
"""Variables that an option file sets by another name; with their own name no server starts (read on 9.7.4 and 10.11.19)."""

VARIABLE_OF = {option: variable for variable, option in OPTION_OF.items()}

_SAME = (
    {"tx_isolation", "transaction_isolation"},
    {"tx_read_only", "transaction_read_only"},
    {"storage_engine", "default_storage_engine"},
    {"innodb_adaptive_hash_index_partitions", "innodb_adaptive_hash_index_parts"},
    {"tmp_table_size", "tmp_memory_table_size"},
    {"long_query_time", "log_slow_query_time"},
    {"slow_query_log", "log_slow_query"},
    {"min_examined_row_limit", "log_slow_min_examined_row_limit"},
    {"replica_parallel_workers", "replica_parallel_threads"},
    {"innodb_stats_sample_pages", "innodb_stats_transient_sample_pages"},
    {"innodb_rollback_segments", "innodb_undo_logs"},
    # A server's character set decides its collation and what a client starts from.
    {
        "character_set_server", "character_set_database", "character_set_client", "character_set_connection",
        "character_set_results", "collation_server", "collation_database", "collation_connection",
    },
)  # fmt: skip
"""Names that change together because they are one variable; each group was observed on 5.6.24, 10.2.11, 10.11.19 or 9.7.4."""

_GROUP = {name: min(group) for group in _SAME for name in group}
_RENAMED = (("slave", "replica"), ("master", "source"))


def checked_name(name: str) -> str:
    """Return a variable's name in the spelling of the server, or raise UserError where it cannot be one."""
    try:
        return canonical_name(name)
    except ValueError as error:
        raise UserError(str(error), "Write it as the server does, like innodb_buffer_pool_size") from None


def reported_name(name: str, reported: Container[str]) -> str:
    """Return the variable that a name or an option stands for on a server that reports these variables.

    Raises:
        UserError: the text cannot be a variable's name; such text never reaches SQL.
    """
    plain = checked_name(name)
    other = VARIABLE_OF.get(plain, plain)
    return plain if plain in reported or other not in reported else other


def shared_name(variable: str) -> str:
    """Return a name that all names of the same variable share, e.g. one for `slave_net_timeout` and `replica_net_timeout`."""
    for old, new in _RENAMED:
        variable = variable.replace(old, new)
    return _GROUP.get(variable, variable)
