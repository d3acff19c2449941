"""The forms of `environment.image`, and how each runtime reads them. PURE.

Sites name images as Singularity, Podman and Enroot do. A form that a runtime supports is
translated to the runtime's own form; any other is an error that names the form and the remedy.
Source: experiment-config 12.
"""

from __future__ import annotations

from collections.abc import Callable

ENROOT_FILE = ".sqsh"
_FILES = (".sif", ENROOT_FILE, ".img")
_APPTAINER_SCHEMES = ("docker", "instance", "library", "oras", "shub", "http", "https")
_APPTAINER_TRANSPORTS = ("docker-archive", "docker-daemon", "oci", "oci-archive")
_ARCHIVES = ("docker-archive", "oci-archive")
_TRANSPORTS = (*_APPTAINER_TRANSPORTS, "containers-storage", "dir")
_OWN_STORE = {"docker": "docker-daemon", "podman": "containers-storage"}


class ImageFormError(ValueError):
    """The runtime does not support this form of image name."""


def daemon_image(image: str, runtime: str) -> str:
    """Return the name by which Docker's or Podman's daemon knows an image.

    Args:
        image: as in the configuration.
        runtime: `docker` or `podman`.

    Raises:
        ImageFormError: the daemon does not support this form.
    """
    form, rest = _split(image)
    if form == "":
        return image
    if form == "docker" or form == _OWN_STORE[runtime]:
        return _without_enroot_separator(image, rest)
    if form == "file":
        remedy = "files are images for container_runtime apptainer"
    elif form in _ARCHIVES:
        remedy = f"load it on the agents ({runtime} load -i FILE) and name the image in it"
    else:
        remedy = f"use a registry's name, docker://NAME or {_OWN_STORE[runtime]}:NAME"
    raise ImageFormError(_unsupported_text(image, runtime, remedy))


def apptainer_source(image: str, root: str, is_there: Callable[[str], bool]) -> str:
    """Return the image argument for Apptainer.

    A path and Apptainer's own forms are used as they are. Any other name is searched below the
    agent's image root: unchanged, as a `.sif` file, and as Enroot names its files, with `+` for
    `/` and `:`. If no file is found, it is the name of an image in a registry.

    Args:
        image: as in the configuration.
        root: the agent's `apptainer_image_root`, empty for none.
        is_there: whether a path exists.

    Raises:
        ImageFormError: Apptainer does not support this form, or the file does not exist.
    """
    form, rest = _split(image)
    if image.startswith("/") or form in _APPTAINER_TRANSPORTS:
        return image
    if form in _APPTAINER_SCHEMES:
        plain = _without_enroot_separator(image, rest)
        return f"docker://{plain}" if form == "docker" else image
    if form not in ("", "file"):
        remedy = "use a path, a registry's name or " + ", ".join(
            [f"{name}://" for name in _APPTAINER_SCHEMES]
            + [f"{name}:" for name in _APPTAINER_TRANSPORTS]
        )
        raise ImageFormError(_unsupported_text(image, "apptainer", remedy))
    if root and ".." not in image.split("/"):
        enroot = image.replace("/", "+").replace(":", "+") + ENROOT_FILE
        for name in (image, f"{image}.sif", enroot):
            path = f"{root.rstrip('/')}/{name}"
            if is_there(path):
                return path
    if form == "file":
        where = (
            f"a file that is not below the agent's apptainer_image_root {root}"
            if root
            else "a relative path, and the agent has no apptainer_image_root"
        )
        raise ImageFormError(
            f"environment.image '{image}': {where}: give its whole path, or "
            "a path below the agent's apptainer_image_root"
        )
    return f"docker://{image}"


def _split(image: str) -> tuple[str, str]:
    """Split into form (scheme, transport, `file`, or empty for a registry's name) and rest."""
    scheme, mark, rest = image.partition("://")
    if mark:
        return scheme, rest
    if image.startswith(("/", "./", "../")) or image.endswith(_FILES):
        return "file", image
    transport, mark, rest = image.partition(":")
    # `oci:1` is an image of that name; a directory is given by its path.
    is_name = transport in ("dir", "oci") and not rest.startswith(("/", "."))
    if mark and transport in _TRANSPORTS and not is_name:
        return transport, rest
    return "", image


def _without_enroot_separator(image: str, rest: str) -> str:
    """Replace the # of Enroot's REGISTRY#NAME. Raises ImageFormError for USER@REGISTRY#NAME."""
    host, mark, name = rest.partition("#")
    if not mark:
        return rest
    if "@" in host:
        raise ImageFormError(
            f"environment.image '{image}': leave the user out and set environment.registry_auth"
        )
    return f"{host}/{name}"


def _unsupported_text(image: str, runtime: str, remedy: str) -> str:
    return (
        f"environment.image '{image}': container_runtime {runtime} does not support this form; "
        f"{remedy}"
    )
