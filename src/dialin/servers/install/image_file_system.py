"""A build of a container image: the image's file system in dialin's cache answers questions, its servers run in containers."""

from __future__ import annotations

import re

from dialin.errors import UserError
from dialin.model.build import Build, BuildReference, Image
from dialin.paths import Home
from dialin.servers import containers
from dialin.servers.install.archive_file import Verify, add_stream
from dialin.servers.install.clients import Say
from dialin.servers.install.manifest import build_at, installed
from dialin.servers.install.unpacked import UnpackedServer
from dialin.servers.server_binary import identify

PREFIX = "image:"
_DIGEST = 12
_OTHER = re.compile(r"[^a-z0-9]+")


def image_build(home: Home, name: str, say: Say, verify: Verify) -> Build:
    """Return the build of an image that podman or docker has; the first time, its file system is copied and its server tried.

    Two tags are two builds, and so are two contents of one tag.

    Raises:
        UserError: the image is not here, or has no server.
    """
    engine, digest = containers.find_image(name)
    for build in installed(home):
        if build.image is not None and (build.image.engine, build.image.name, build.image.digest) == (engine, name, digest):
            return build

    def name_it(server: UnpackedServer) -> Build:
        found, text = identify(server.binary, server.layout.launcher(server.root))
        label = f"image.{_OTHER.sub('.', name.lower()).strip('.')}.{digest[:_DIGEST]}"
        reference = BuildReference(found.vendor, found.version, label)
        fresh = next(path for path in server.binary.parents if path.parent == home.builds.resolve())
        image = Image(engine, name, digest, f"/{server.binary.relative_to(fresh)}")
        return build_at(server.root, server.layout, reference, text, f"{engine} image {name}", image)

    with containers.exported(engine, digest) as stream:
        return add_stream(home, stream, f"{engine} image {name}", say, name_it, verify)


def check_image(build: Build) -> None:
    """Raise UserError where a build's image is gone, which only its user can bring back."""
    if build.image is not None and not containers.is_here(build.image):
        raise UserError(
            f"The image {build.image.name} ({build.image.digest[:_DIGEST]}) is not here any more",
            f"Pull it: {build.image.engine} pull {build.image.name}",
        )
