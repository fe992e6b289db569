"""dialin finds the right value of a MySQL or MariaDB server variable for your workload on your hardware, and proves it."""

__version__ = "0.1.0"
