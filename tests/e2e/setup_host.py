"""Install what the end-to-end tests need: a slim Open WebUI, this project, a headless browser.

    python tests/e2e/setup_host.py          # prints the folder and the seconds each step took

Everything lands in one cache folder (``EUNOE_E2E_DIR``, else ``~/.cache/eunoe-e2e``) and is only
installed again when the pinned list changes; the project itself is reinstalled on every run.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

HOST_VERSION = "0.12.4"
HERE = Path(__file__).resolve().parent
REPO = HERE.parent.parent
REQUIREMENTS = HERE / "host-requirements.txt"
BROWSER_PACKAGES = ("chromium", "chromium-driver", "fonts-dejavu-core")


def cache_dir() -> Path:
    """Folder that holds the installed host; it survives between runs."""
    return Path(os.environ.get("EUNOE_E2E_DIR") or Path.home() / ".cache" / "eunoe-e2e")


def host_python() -> Path:
    """Python of the environment in which Open WebUI runs."""
    return cache_dir() / "host" / "bin" / "python"


def install_host() -> None:
    """Create the host's environment from the pinned list, unless it is there already."""
    stamp = cache_dir() / "host.stamp"
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes() + HOST_VERSION.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted and host_python().exists():
        return
    cache_dir().mkdir(parents=True, exist_ok=True)
    _run(_uv(), "venv", "--quiet", "--clear", "--python", sys.executable, str(cache_dir() / "host"))
    _pip("-r", str(REQUIREMENTS))
    _pip("--no-deps", f"open-webui=={HOST_VERSION}")
    stamp.write_text(wanted)


def install_project() -> None:
    """Build this project as a wheel and install it into the host, as an operator would."""
    _pip("--no-deps", "--reinstall-package", "eunoe", str(REPO))


def install_browser() -> None:
    """Install Chromium and its driver with apt where they are missing and we may.

    Raises:
        RuntimeError: The browser is missing and we are not root.
    """
    if shutil.which("chromium") and shutil.which("chromedriver"):
        return
    if os.geteuid() != 0:
        raise RuntimeError(f"install these Debian packages first: {' '.join(BROWSER_PACKAGES)}")
    _run("apt-get", "update", "-qq")
    _run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *BROWSER_PACKAGES)


def _pip(*arguments: str) -> None:
    _run(_uv(), "pip", "install", "--quiet", "--python", str(host_python()), *arguments)


def _uv() -> str:
    """Path of uv; it is installed beside this interpreter when the machine has none."""
    found = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if found and subprocess.run([found, "--version"], capture_output=True).returncode == 0:
        return found
    tools = cache_dir() / "tools"
    if not (tools / "bin" / "uv").exists():
        _run(sys.executable, "-m", "venv", str(tools))
        _run(str(tools / "bin" / "python"), "-m", "pip", "install", "--quiet", "uv")
    return str(tools / "bin" / "uv")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    """Run every step and say how long it took."""
    print(cache_dir())
    for step in (install_host, install_project, install_browser):
        started = time.monotonic()
        step()
        print(f"{step.__name__}: {time.monotonic() - started:.1f} s")


if __name__ == "__main__":
    main()
