"""Variables and options that dialin itself must set, or keep off, so that a sandbox is private and its load can run.

A study that sets one is refused with the reason. In an option file they are ignored and listed, so that a production my.cnf can
be compared as it is: its data, its log files, its cluster and its masters are never touched.
"""

from __future__ import annotations

import re

_PLACE = "dialin chooses the files and addresses of a sandbox"
_IDENTITY = "it identifies a server to other servers, and a sandbox has none"
_ACCESS = "the load must be able to connect and to write"
_ALONE = "a sandbox never joins a cluster or replicates"
_LIFECYCLE = "dialin itself starts and stops a sandbox"
_PLUGIN = "a sandbox loads no plug-ins from elsewhere"
_NOTHING = "it does not affect the measured tables"

_NAMED = {
    **dict.fromkeys(
        (
            "admin_address", "admin_port", "aria_log_dir_path", "basedir", "bind_address", "buffered_error_log_filename",
            "character_sets_dir", "chroot", "coredumper", "datadir", "des_key_file", "extra_port", "general_log_file",
            "init_file", "innodb_buffer_pool_filename", "innodb_data_home_dir", "innodb_directories",
            "innodb_doublewrite_dir", "innodb_doublewrite_file", "innodb_log_arch_dir", "innodb_log_group_home_dir",
            "innodb_parallel_doublewrite_path", "innodb_redo_log_archive_dirs", "innodb_temp_tablespaces_dir",
            "innodb_tmpdir", "innodb_undo_directory", "language", "lc_messages_dir", "log_basename", "log_bin_basename",
            "log_bin_index", "log_error", "log_slow_query_file", "master_info_file", "pid_file", "plugin_dir", "port",
            "proxy_protocol_networks", "relay_log", "relay_log_basename", "relay_log_index", "relay_log_info_file",
            "replica_load_tmpdir", "secure_file_priv", "secure_log_path", "slave_load_tmpdir", "slow_query_log_file",
            "socket", "tmpdir", "user",
        ),
        _PLACE,
    ),
    **dict.fromkeys(("hostname", "server_id", "server_uid", "server_uuid"), _IDENTITY),
    **dict.fromkeys(
        (
            "innodb_force_recovery", "innodb_read_only", "innodb_read_only_compressed", "offline_mode", "read_only",
            "require_secure_transport", "skip_grant_tables", "skip_networking", "ssl", "super_read_only", "unix_socket",
        ),
        _ACCESS,
    ),
    **dict.fromkeys(
        ("binlog_do_db", "binlog_ignore_db", "init_replica", "init_slave", "master_retry_count", "skip_replica_start",
         "skip_slave_start"),
        _ALONE,
    ),
    **dict.fromkeys(
        ("bootstrap", "console", "daemonize", "gdb", "initialize", "initialize_insecure", "persisted_globals_load", "upgrade",
         "validate_config"),
        _LIFECYCLE,
    ),
    **dict.fromkeys(("early_plugin_load", "plugin_load", "plugin_load_add", "plugin_maturity"), _PLUGIN),
    **dict.fromkeys(("core_file", "external_locking", "federated", "skip_external_locking", "symbolic_links"), _NOTHING),
}  # fmt: skip

_PATTERNS = (
    (re.compile(r"(admin_)?(ssl|tls)_.*|caching_sha2_password_.*|sha256_password_.*"), _ACCESS),
    (re.compile(r"mysqlx(_.*)?"), "the X protocol is off"),
    (re.compile(r"report_.*"), _IDENTITY),
    (re.compile(r"wsrep_.*|group_replication_.*|replicate_.*"), _ALONE),
    (re.compile(r"keyring_.*|feedback(_.*)?|percona_telemetry[._].*"), _PLUGIN),
    (re.compile(r"utility_user(_.*)?"), _ACCESS),
)

_FILE_LISTS = ("innodb_data_file_path", "innodb_temp_data_file_path")
_ONLY_READ = ("ft_stopword_file",)
_PATH = ("/", "./", "../", "~/")


def reason(name: str) -> str | None:
    """Return why a setting may not have a variable or option, or None where it may."""
    if name in _NAMED:
        return _NAMED[name]
    return next((why for pattern, why in _PATTERNS if pattern.fullmatch(name)), None)


def reason_for_value(name: str, value: object) -> str | None:
    """Return why a variable cannot have this value: its files would lie outside the sandbox. None where it can.

    `log_bin`, and options that no catalogue has, take a path as well.
    """
    text = str(value).strip()
    is_outside = "/" in text if name in _FILE_LISTS else text.startswith(_PATH) and name not in _ONLY_READ
    return _PLACE if is_outside else None
