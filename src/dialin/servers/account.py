"""The account that connects to a server: unix socket or TCP, user, and TLS. Its text form never contains a secret."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from dialin.errors import UserError, os_error

STANDARD_PORT = 3306


class TlsMode(StrEnum):
    """The values of the standard client's `ssl-mode`."""

    DISABLED = "disabled"
    PREFERRED = "preferred"
    REQUIRED = "required"
    VERIFY_CA = "verify_ca"
    VERIFY_IDENTITY = "verify_identity"


@dataclass(frozen=True, slots=True)
class Tls:
    """How a connection is encrypted, and the paths of the certificates; `PREFERRED` applies only to TCP."""

    mode: TlsMode = TlsMode.PREFERRED
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None

    @property
    def is_required(self) -> bool:
        return self.mode not in (TlsMode.DISABLED, TlsMode.PREFERRED)

    @property
    def files(self) -> dict[str, str | None]:
        """The certificate files by the standard client's option for each; None where none is given."""
        return {"ssl-ca": self.ca, "ssl-cert": self.certificate, "ssl-key": self.key}

    def context(self) -> ssl.SSLContext | None:
        """Return the TLS context for a connection; None if TLS is disabled.

        Raises:
            UserError: a certificate cannot be read.
        """
        if self.mode is TlsMode.DISABLED:
            return None
        verified = self.mode in (TlsMode.VERIFY_CA, TlsMode.VERIFY_IDENTITY)
        try:
            context = ssl.create_default_context(cafile=self.ca) if verified else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = self.mode is TlsMode.VERIFY_IDENTITY
            context.verify_mode = ssl.CERT_REQUIRED if verified else ssl.CERT_NONE
            if self.certificate:
                context.load_cert_chain(self.certificate, self.key)
        except OSError as error:  # an ssl.SSLError is one, too
            request = UserError(f"The certificates for TLS cannot be read: {error}", "See ssl-ca, ssl-cert and ssl-key")
            raise os_error(error, request) from error
        return context


@dataclass(frozen=True, slots=True)
class Account:
    """Where a server listens and who connects.

    Attributes:
        socket: None for TCP.
        fetches_public_key: whether the load driver may ask the server for its RSA key over unencrypted TCP.
        notes: sentences about the option files that it comes from: which were ignored, and which passwords others may read.
    """

    socket: Path | None = None
    host: str = "localhost"
    port: int = STANDARD_PORT
    user: str = "root"
    password: str = field(default="", repr=False)
    tls: Tls = Tls()
    fetches_public_key: bool = False
    notes: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def is_local(self) -> bool:
        return self.socket is not None or self.host in ("127.0.0.1", "::1", "localhost")

    def __str__(self) -> str:
        return f"{self.user} at {self.socket or f'{self.host}:{self.port}'}"
