"""What the Ray clusters of tests read from the environment when Ray is imported, so that this module comes first.

They ask for a token, and with the switch for machines that are no part of a larger cluster they listen on loopback alone.
"""

import os
import secrets
import tempfile
from pathlib import Path

TOKEN = Path(tempfile.mkstemp(prefix="dialin-ray-token-")[1])
TOKEN.write_text(secrets.token_hex(32))  # conftest.py removes it: a worker of pytest-xdist runs nothing at its exit
LARGER_CLUSTER = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(TOKEN), LARGER_CLUSTER: "0"}
