"""The life of a trial, and where it takes place: a sandbox, a shared sandbox, or an attached server."""
