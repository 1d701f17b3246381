"""Run the fast tests on the other supported Pythons, where they are present (part of `make test-all`)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = ("3.12", "3.13")


def answers(command: Path | str, version: str) -> bool:
    """Whether `command` starts Python `version`: a version manager's shim may stand there and refuse."""
    probe = subprocess.run(
        [command, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True
    )
    return probe.stdout.strip() == version


def interpreter(version: str) -> Path | str | None:
    """A Python of `version` on PATH or among pyenv's, or None."""
    name = f"python{version}"
    if shutil.which(name) and answers(name, version):
        return name
    if shutil.which("pyenv"):
        root = subprocess.run(["pyenv", "root"], capture_output=True, text=True).stdout.strip()
        for candidate in sorted(Path(root, "versions").glob(f"{version}.*/bin/python")):
            if answers(candidate, version):
                return candidate
    return None


def main() -> int:
    ran = failed = 0
    for version in VERSIONS:
        command = interpreter(version)
        if command is None:
            print(f"Python {version}: not here")
            continue
        home = ROOT / f".venv-{version}"
        python = home / "bin/python"
        if not python.exists():
            subprocess.run([command, "-m", "venv", home], check=True)
            subprocess.run(
                [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-e", ".[dev]"],
                cwd=ROOT,
                check=True,
            )
        done = subprocess.run([python, "-m", "pytest", "-n", "auto", "-m", "not slow"], cwd=ROOT)
        ran, failed = ran + 1, failed + (done.returncode != 0)
        print(f"Python {version}: {'failed' if done.returncode else 'passed'}")
    print(f"{ran} other Pythons tested, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
