"""Variables that were set since the server was started, as the server itself remembers them."""

from __future__ import annotations

from dialin.model.build import Flavour
from dialin.model.query import Query
from dialin.servers.capabilities import Capability, Versioned, has

_STATEMENTS = {
    Flavour.MYSQL: "SELECT variable_name FROM performance_schema.variables_info WHERE variable_source = 'DYNAMIC'",
    Flavour.MARIADB: "SELECT variable_name FROM information_schema.system_variables WHERE global_value_origin = 'SQL'",
}


def set_since_start(query: Query, build: Versioned) -> frozenset[str]:
    """Return the variables whose global value was set by a statement; none where the build does not remember that.

    MySQL does since 8.0, MariaDB since 10.1.
    """
    if not has(build, Capability.VALUE_ORIGIN):
        return frozenset()
    return frozenset(str(name).lower() for (name,) in query(_STATEMENTS[build.flavour]))
