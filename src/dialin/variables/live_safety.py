"""Which variables may be changed on a live server, and how long their effect takes to settle there."""

from __future__ import annotations

import re

from dialin.model.live import DEFAULT_WASHOUT
from dialin.variables.rules import COMMANDS, NameRule, first_rule

_RESIZES = (
    r"innodb_buffer_pool_size(_.*)?|(.*\.)?key_buffer_size|key_cache_.*|query_cache_(size|type)|aria_pagecache_.*"
    r"|innodb_log_buffer_size|innodb_ft_.*cache_size|tmp_memory_table_size|temptable_max_(ram|mmap)"
)
"""Variables that allocate or free memory when they are changed, which may block all clients."""

_REFUSED = (
    NameRule(
        r"innodb_redo_log_capacity|innodb_log_files?_.*|innodb_undo_.*|innodb_max_undo_log_size|innodb_rollback_segments"
        r"|max_binlog_.*|binlog_(?!commit_wait_|group_commit_sync_).*|log_bin.*|relay_log_.*|expire_logs_days"
        r"|max_slowlog_.*|innodb_max_bitmap_file_size|percona_telemetry.*",
        "changes files that outlive the study",
    ),
    NameRule(
        r".*(password|auth|secret|token|secure|ssl|tls|cipher|certificate|keyring|encrypt|audit|firewall).*|local_infile"
        r"|skip_(name_resolve|networking|show_database)|partial_revokes|activate_all_roles_on_login|mandatory_roles"
        r"|check_proxy_users|init_(connect|file|replica|slave)|sql_mode|old_mode|automatic_sp_privileges|log_bin_trust_.*",
        "concerns security, or what statements mean",
    ),
    NameRule(
        r"(super_|innodb_|transaction_)?read_only|offline_mode|event_scheduler|gtid_.*|enforce_gtid_.*|server_id|autocommit"
        r"|(rpl_semi_sync|group_replication|wsrep|replica|slave)_.*|(general|slow_query|error)_log.*|log_output"
        r"|max_(connections|user_connections|connect_errors)|thread_pool_max_threads|connect_timeout|wait_timeout|interactive_timeout|lock_wait_timeout"
        r"|innodb_(fast_shutdown|force_recovery|checksum_.*|doublewrite.*|flush_method|corrupt_table_action)"
        r"|(innodb_)?kill_idle_transaction|idle_.*transaction_timeout|extra_max_connections",
        "decides who may connect, what is replicated, or what survives",
    ),
    NameRule(rf"{COMMANDS}|flush|flush_time|debug.*", "is a command that runs when it is set"),
)

_WASHOUTS = (
    (_RESIZES, 30.0),
    (r"innodb_(io_capacity|max_dirty_pages|adaptive_flushing|flush_neighbors).*", 15.0),
    (r"innodb_(lru_scan|idle_flush|flushing_avg).*", 15.0),
    (r"innodb_(purge|max_purge).*|innodb_change_buffer.*", 20.0),
    (r"innodb_adaptive_hash_index.*", 30.0),
    (r"(table_open|table_definition|thread)_cache.*|innodb_old_blocks.*|innodb_(random_)?read_ahead.*", 15.0),
)
"""Seconds until the effects of a change have settled, such as those on dirty pages and caches."""


def why_refused(variable: str) -> str | None:
    """Return why a variable is not changed on a live server, without its subject and full stop; None where it may be."""
    rule = first_rule(_REFUSED, variable.lower())
    return rule.why if rule else None


def resizes(variable: str) -> bool:
    """Return whether a variable allocates or frees memory, which needs an extra option on a live server."""
    return re.fullmatch(_RESIZES, variable.lower()) is not None


def washout(variables: list[str] | tuple[str, ...]) -> float:
    """Return the seconds at the start of a period that are left out where these variables change."""
    washouts = [seconds for name in variables for names, seconds in _WASHOUTS if re.fullmatch(names, name.lower())]
    return max([DEFAULT_WASHOUT, *washouts])
