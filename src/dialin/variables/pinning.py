"""Pinning what differs between candidates but is not under test: which values make it the same for all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dialin.model.setting import Value, as_number
from dialin.variables import behaviour
from dialin.variables.size_units import with_letter

POOL = "innodb_buffer_pool_size"
CHUNK = "innodb_buffer_pool_chunk_size"
INSTANCES = "innodb_buffer_pool_instances"

_MIB = 2**20
_MOST_GROWTH = 0.1
_MOST_CHUNKS = 1000


def proposal(name: str, in_force: Mapping[str, Mapping[str, str]]) -> dict[str, Value]:
    """Return the values to set for all candidates so that a variable no longer differs; none where it cannot be pinned."""
    if name in (POOL, CHUNK):
        return _pool(in_force)
    rule = behaviour.DERIVED.get(name)
    numbers = [number for values in in_force.values() if (number := as_number(values.get(name, ""))) is not None]
    if rule is None or rule.hold is None or len(numbers) < len(in_force):
        return {}
    return {name: rule.hold(numbers)}


def pool_multiple(values: Mapping[str, Value], defaults: Mapping[str, Value], build_id: str) -> int:
    """Return the bytes that a buffer pool of a build is a multiple of, if it is not smaller; 0 where it has any size.

    It is a whole number of chunks in every instance. A pool with less than one chunk in each has smaller chunks, which grow
    to the default with the pool.
    """
    if not any(one.is_of(build_id) for one in behaviour.DERIVED[POOL].behaviours):
        return 0
    pool, chunk, instances = (_whole(values.get(name, defaults.get(name))) for name in (POOL, CHUNK, INSTANCES))
    if pool <= chunk * max(instances, 1):
        chunk = max(chunk, _whole(defaults.get(CHUNK)))
    return chunk * max(instances, 1)


def _pool(in_force: Mapping[str, Mapping[str, str]]) -> dict[str, Value]:
    """Return a size of the pool, and of its chunks, that every number of instances divides.

    The server makes the pool a whole number of chunks in every instance (manual, Configuring InnoDB Buffer Pool Size). As many
    chunks as the least common multiple of all numbers of instances fit every candidate; the pool grows to the next such size
    in MiB. Empty where the pool would grow by more than a tenth, or have more chunks than the manual advises.
    """
    instances = [_whole(values.get(INSTANCES)) for values in in_force.values()]
    sizes = [_whole(values.get(POOL)) for values in in_force.values()]
    if not all(instances) or not all(sizes):
        return {}
    parts = math.lcm(*instances)
    smallest = min(sizes)
    chunk = math.ceil(smallest / parts / _MIB) * _MIB
    if parts > _MOST_CHUNKS or chunk * parts > smallest * (1 + _MOST_GROWTH):
        return {}
    return {POOL: with_letter(chunk * parts), CHUNK: with_letter(chunk)}


def _whole(value: Value | None) -> int:
    number = as_number(value or "")
    return number if isinstance(number, int) and number > 0 else 0
