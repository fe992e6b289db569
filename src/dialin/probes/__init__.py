"""The probes that read the server and the machine while load runs. Each file states its cost and the privileges it needs."""
