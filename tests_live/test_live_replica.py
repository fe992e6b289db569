"""Studies on a live replica."""

import time

import pytest

from driving import needs_dialin_load
from live import find, only_with_all
from live_traffic import QUICK, traffic
from playground import option_file
from replica import replicated

pytestmark = [needs_dialin_load, only_with_all]


@pytest.mark.parametrize("name", [name for name in ("mysql@9.7", "mariadb@10.11") if find(name)])
def test_a_replica_that_lags_or_has_stopped_is_refused(refused, tmp_path, name):
    with replicated(find(name)) as replica:
        account = option_file(replica.server, tmp_path / "account.cnf")
        sweep = ["sweep", "innodb_io_capacity=300", "--defaults-file", account, *QUICK, "--minutes", "5", "--guard-lag", "2"]
        writes = traffic(replica.source, tmp_path / "writes", workload="oltp_write_only", rate="40")
        with writes, traffic(replica.server, tmp_path / "reads", workload="oltp_read_only", rate="40"):
            replica.delay(60)
            time.sleep(6)
            assert "s behind its source, more than --guard-lag 2" in refused(*sweep)
            replica.stop_applier()
            assert "a replica whose replication does not run" in refused(*sweep)
