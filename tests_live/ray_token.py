"""A token that the Ray clusters of tests ask for; Ray reads where it is when it is imported, so this module comes first."""

import atexit
import os
import secrets
import tempfile
from pathlib import Path

TOKEN = Path(tempfile.mkstemp(prefix="dialin-ray-token-")[1])
TOKEN.write_text(secrets.token_hex(32))
atexit.register(TOKEN.unlink, missing_ok=True)
os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(TOKEN)}
