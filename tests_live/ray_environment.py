"""What the Ray clusters of tests go by: a token, and patience. Ray reads that when it is imported, so this module comes first."""

import atexit
import os
import secrets
import tempfile
from pathlib import Path

TOKEN = Path(tempfile.mkstemp(prefix="dialin-ray-token-")[1])
TOKEN.write_text(secrets.token_hex(32))
atexit.register(TOKEN.unlink, missing_ok=True)
os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(TOKEN)}
os.environ.setdefault("RAY_raylet_start_wait_time_s", "120")  # on a busy machine a node takes longer than Ray's 30 s
