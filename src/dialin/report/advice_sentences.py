"""Advice in words, built from its codes and figures when it is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dialin.evidence.probe_notes import probe_note_text
from dialin.model.advice import Advice, Experiment, Studied, Trigger, Unread, UnreadCode, Watch, Weight
from dialin.model.evidence import ProbeNote, ProbeNoteCode
from dialin.model.setting import Value
from dialin.report.tune_words import value_text
from dialin.text import counted, duration, listed, number, percent, size

Figures = Mapping[str, Any]
"""The figures of a trigger."""

WEIGHTS: Mapping[Weight, str] = {
    Weight.WAITED: "the server waited, or reached a limit",
    Weight.WORK: "the server did work that another value may save",
    Weight.MACHINE: "the value differs from a rule of thumb for this machine",
    Weight.CHANGED: "the default was changed",
}
"""What each weight means."""


STUDIED: Mapping[Studied, str] = {
    Studied.SERVER: "The commands with --attach put a load of their own on the server: use a copy of it, or a quiet hour.",
    Studied.MANAGED: "The account may not set variables: COMMAND is one of yours that applies settings (docs/attached.md).",
    Studied.TRAFFIC: "Clients use the server. The commands with --traffic own switch the variable back and forth under their "
    "traffic, and put it back at the first sign of harm.",
    Studied.REPLAY: "The commands with capture: replay this server's statements on a sandbox. DIR is a copy of its data from "
    "before the recording, which this makes:",
    Studied.SANDBOX: "What only a start can set is compared on a sandbox; on the server itself, with --attach --apply-command.",
}
"""What there is to know of the commands, by where they run."""


def _pool_misses(x: Figures) -> str:
    data = f", and the data that the account sees have {size(x['data'])}" if "data" in x else ""
    share = f" ({percent(x['share'])} of the requests)" if "share" in x else ""
    return f"{number(x['figure'])} page reads/s missed the buffer pool{share}, which has {size(x['pool'])}{data}"


def _memory_short(x: Figures) -> str:
    return (
        f"Some task of the machine waited for memory {percent(x['figure'])} of the time, and the buffer pool may take "
        f"{percent(x['share'])} of it"
    )


def _latch_waits(x: Figures) -> str:
    return f"Threads slept for latches of InnoDB {number(x['figure'])} times/s, with a buffer pool of {size(x['pool'])}"


def _redo_hours(x: Figures) -> str:
    return (
        f"The load writes {size(x['written'])}/s of redo log: an hour of it is {number(x['figure'])} times the redo log of "
        f"{size(x['capacity'])}"
    )


def _query_cache(x: Figures) -> str:
    prunes = f", and {number(x['prunes'])} results/s were removed for want of memory" if x.get("prunes") else ""
    return f"The query cache answered {percent(1 - x['figure'])} of the SELECTs{prunes}; every write must look into it"


def _hash_misses(x: Figures) -> str:
    return (
        f"The adaptive hash index answered {percent(1 - x['figure'])} of the searches; {number(x['rate'])} searches/s went to "
        "the B-trees all the same"
    )


def _hash_off(x: Figures) -> str:
    return (
        f"{number(x['figure'])} searches/s of B-trees, next to none of which read from the disk "
        f"({percent(x['share'])} of the requests): a hash index may answer them"
    )


def _threads_per_cpu(x: Figures) -> str:
    return f"{number(x['running'])} threads were at work on average on {counted(int(x['cpus']), 'CPU')}"


_FACTS: Mapping[str, Callable[[float], str]] = {
    "memory": lambda x: f"{size(x)} of memory",
    "cpus": lambda x: counted(int(x), "CPU"),
    "data": lambda x: f"{size(x)} of data",
    "disk": lambda x: f"{size(x)} of free disk",
    "iops": lambda x: f"{number(x)} writes/s that the disk reached",
    "spinning": lambda x: "a disk that seeks" if x else "a disk that does not seek",
    "connections": lambda x: counted(int(x), "connection"),
    "tables": lambda x: counted(int(x), "table"),
    "open_tables": lambda x: f"{number(x)} tables times connections",
    "hourly_redo": lambda x: f"{size(x)} of redo log per hour",
    "default": lambda x: f"a default of {number(x)}",
    "pool": lambda x: f"a buffer pool of up to {size(x)}",
}


def _thumb(name: str, x: Figures) -> str:
    facts = [shown(x[fact]) for fact, shown in _FACTS.items() if fact in x]
    return f"For {listed(facts)} the rule of thumb is {value_text(name, x['figure'])}"


def _changed(name: str, x: Figures) -> str:
    return f"Somebody changed it from its default {value_text(name, x['default']) or 'of nothing'}"


_SENTENCES: Mapping[str, Callable[[Figures], str]] = {
    "pool_misses": _pool_misses,
    "no_free_page": lambda x: f"No page of the buffer pool was free {number(x['figure'])} times/s",
    "redo_log_full": lambda x: (
        f"The checkpoint age reached {percent(x['figure'])} of that from which pages are flushed to free the redo log"
    ),
    "log_buffer_full": lambda x: f"Transactions waited for space in the log buffer {number(x['figure'])} times/s",
    "io_capacity_max_reached": lambda x: f"Flushing wrote {percent(x['figure'])} of what the variable allows it",
    "table_cache_full": lambda x: f"The table cache was full and evicted {number(x['figure'])} tables/s",
    "queries_queued_for_concurrency": lambda x: f"Up to {number(x['figure'])} queries waited to enter InnoDB",
    "reads_pending": lambda x: f"{number(x['figure'])} reads were pending for each read thread",
    "latch_waits": _latch_waits,
    "memory_short": _memory_short,
    "redo_hours": _redo_hours,
    "temporary_tables_on_disk": lambda x: (
        f"{percent(min(x['figure'], 1.0))} of the temporary tables went to disk ({number(x['rate'])}/s)"
    ),
    "sort_merge_passes": lambda x: f"Sorts did not fit their buffer: {number(x['figure'])} merge passes/s",
    "sort_buffer_large": lambda x: (
        f"{number(x['rate'])} sorts/s may each take a buffer of {size(x['figure'])}; above 2 MiB its allocation is slower"
    ),
    "full_joins": lambda x: f"{number(x['figure'])} joins/s used no index; an index may help more than a buffer",
    "threads_created": lambda x: f"{number(x['figure'])} threads/s were created for {number(x['connections'])} connections/s",
    "tables_opened": lambda x: f"{number(x['figure'])} tables/s were opened",
    "key_cache_misses": lambda x: f"{percent(x['figure'])} of the requests for index blocks of MyISAM read from disk",
    "aria_page_cache_misses": lambda x: f"{percent(x['figure'])} of the requests for pages of Aria read from disk",
    "binlog_cache_spills": lambda x: f"{percent(x['figure'])} of the transactions did not fit the binary log cache",
    "query_cache_misses": _query_cache,
    "hash_index_misses": _hash_misses,
    "hash_index_off": _hash_off,
    "binlog_syncs": lambda x: (
        f"{number(x['figure'])} commits/s reach the binary log with sync_binlog=1, {number(x['running'])} threads at work: a "
        "short wait lets commits share a sync"
    ),
    "threads_per_cpu": _threads_per_cpu,
    "thread_pool": _threads_per_cpu,
    "purge_behind": lambda x: f"Purge did not keep up: the history list grew by {number(x['figure'])}/s",
    "flush_neighbors": lambda x: (
        f"{number(x['figure'])} pages/s are written to a disk that does not seek, and their neighbours with them"
    ),
    "change_buffer": lambda x: f"{number(x['figure'])} buffered changes/s were merged, on a disk that does not seek",
    "pages_through_file_cache": lambda x: (
        f"{number(x['figure'])} pages/s were read or written through the file cache of the operating system"
    ),
    "log_writer_threads": lambda x: (
        f"{size(x['figure'])}/s of redo log are written by separate threads on {counted(int(x['cpus']), 'CPU')}"
    ),
    "weaker_commit": lambda x: f"{number(x['figure'])} commits/s may be lost in a crash for a second: what does that gain?",
    "weaker_binlog": lambda x: (
        f"{number(x['figure'])} commits/s reach the binary log unsynced, and may be lost in a crash: what does that gain?"
    ),
}
"""By the code of the rule; those that name the variable's values are in `_OF_VARIABLE`."""

_OF_VARIABLE: Mapping[str, Callable[[str, Figures], str]] = {"rule_of_thumb": _thumb, "changed_default": _changed}

CODES = frozenset([*_SENTENCES, *_OF_VARIABLE])
"""The codes that have a sentence."""


def trigger_text(variable: str, trigger: Trigger) -> str:
    """Return what triggered a rule, in a sentence without its full stop."""
    if trigger.code in _OF_VARIABLE:
        return _OF_VARIABLE[trigger.code](variable, trigger.figures)
    return _SENTENCES[trigger.code](trigger.figures)


_UNREAD: Mapping[UnreadCode, str | Callable[[Figures], str]] = {
    UnreadCode.DEFAULTS: lambda x: (
        f"Which variables are off their defaults: this server does not report it, and dialin has no build like it "
        f"(dialin servers install {x['build']}, then dialin variables --server {x['build']})"
    ),
    UnreadCode.MACHINE: "Memory, CPUs and disk: the server is not on this machine, or its process is not seen from here",
    UnreadCode.DATA: "The size of the data: information_schema.tables did not answer in time",
    UnreadCode.SOME_DATA: "Tables that the account has no privilege for: the data may be larger than it sees (grant it SELECT)",
    UnreadCode.IDLE: lambda x: (
        f"A load: the server was nearly idle ({number(x['queries'])} statements/s), so few rules had anything to go by. "
        "Watch it at its busiest (--seconds)"
    ),
    UnreadCode.AT_START: "Which variables only a start can set: the account may not ask, so that the build's kind decides",
}


def unread_text(unread: Unread) -> str:
    """Return what could not be read, in a sentence without its full stop."""
    if unread.code is UnreadCode.PROBE:
        note = ProbeNote(ProbeNoteCode(unread.figures["note"]), unread.figures["figures"])
        return probe_note_text(note)
    sentence = _UNREAD[unread.code]
    return sentence if isinstance(sentence, str) else sentence(unread.figures)


def add_advice_texts(advice: Advice) -> Advice:
    """Return advice with its sentences, as `dialin advise --json` prints it."""
    return advice.model_copy(
        update={
            "experiments": tuple(map(_experiment_with_texts, advice.experiments)),
            "unread": tuple(unread.model_copy(update={"text": f"{unread_text(unread)}."}) for unread in advice.unread),
        }
    )


def _experiment_with_texts(experiment: Experiment) -> Experiment:
    triggers = tuple(
        trigger.model_copy(update={"text": f"{trigger_text(experiment.variable, trigger)}."}) for trigger in experiment.triggers
    )
    return experiment.model_copy(update={"triggers": triggers})


def watch_text(watch: Watch) -> str:
    """Return the load of the server while it was watched, in a sentence."""
    facts = [f"{number(watch.queries)} statements/s"] if watch.queries is not None else []
    facts += [f"{number(watch.running)} threads at work on average"] if watch.running is not None else []
    facts += [f"{size(watch.data)} of data"] if watch.data is not None else []
    load = f"under {watch.load}" if watch.load else "under its own load"
    return f"Watched for {duration(watch.seconds)} {load}: {listed(facts)}."


def value_list(variable: str, values: Sequence[Value]) -> str:
    """Return values as an option file would write them: `16M, 64M`; `not set` for one that is empty."""
    return ", ".join(value_text(variable, value) or "not set" for value in values)
