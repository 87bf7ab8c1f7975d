"""What is kept on disk is found again whole or made again, comes from nobody else, and is never needed."""

from __future__ import annotations

import errno
import os
import random
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from catena import disk_cache
from catena.disk_cache import room, sealed, tidying
from damage import NO_FILES, damaged
from processes import SOURCE, run_python, spawn

TEXT = "the text\nwith two lines"
STRANGER = 54321  # a user that is neither root nor the one who runs the tests


@pytest.fixture(autouse=True)
def logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A cache of its own that is not there yet, and what is said about it."""
    monkeypatch.setenv(disk_cache.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(room, "_memory", {})
    monkeypatch.setattr(room, "_logged", set())
    messages: list[str] = []
    monkeypatch.setattr(room, "log_message", messages.append)
    return messages


class Maker:
    """Makes the text, and counts how often."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> str:
        return disk_cache.remember("request", self.make)

    def make(self) -> str:
        self.made += 1
        return TEXT


@pytest.fixture
def ask() -> Maker:
    return Maker()


def kept() -> list[Path]:
    """The files of the room."""
    return sorted(disk_cache.place().iterdir())


# Damage -----------------------------------------------------------------------------------------------------------------


def test_a_text_is_made_once_and_found_by_its_request(ask: Maker, logged: list[str]) -> None:
    assert [ask(), ask()] == [TEXT, TEXT]
    assert ask.made == 1
    assert disk_cache.remember("another request", lambda: "other") == "other"
    assert len(kept()) == 2
    assert logged == []


def test_damaged_files_are_made_again_and_this_is_said_once(
    ask: Maker, logged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # flushing takes all the time
    ask()
    (file,) = kept()
    whole, other = file.read_bytes(), sealed.seal("another request", b"other")
    for number, (way, data) in zip(range(220), damaged(whole, other, random.Random(7)), strict=False):
        if data == whole:  # nothing was lost but zeros
            continue
        before = ask.made
        file.write_bytes(data)
        assert ask() == TEXT, (number, way)
        assert ask.made == before + 1, (number, way)
        assert file.read_bytes() == whole
    assert len(logged) == 1
    assert str(file) in logged[0] and logged[0].endswith("it is made again")


def test_without_the_digest_a_flipped_bit_is_another_text(ask: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    """The deliberate error."""
    ask()
    (file,) = kept()
    file.write_bytes(file.read_bytes().replace(b"two", b"tvo"))
    monkeypatch.setattr(room, "unseal", lambda identity, file: file[len(sealed.seal(identity, b"")) :])
    assert ask() == TEXT.replace("two", "tvo")


@pytest.mark.parametrize("put", NO_FILES, ids=lambda put: put.__name__)
def test_what_is_no_file_is_neither_opened_nor_waited_for(
    put: Callable[[Path], None], ask: Maker, logged: list[str]
) -> None:
    ask()
    (file,) = kept()
    put(file)
    assert [ask(), ask()] == [TEXT, TEXT]
    assert ask.made == 2
    assert len(logged) == (2 if file.is_dir() else 1)  # a directory cannot be replaced: the text stays in memory


def test_a_process_killed_while_it_writes_leaves_no_half_file(ask: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed_at(function: str) -> None:
        monkeypatch.setattr(os, function, lambda *arguments, **options: os._exit(7))
        ask()

    for function in ("fsync", "replace"):
        assert os.waitstatus_to_exitcode(os.waitpid(spawn(lambda f=function: killed_at(f)), 0)[1]) == 7
        assert [path.name.startswith(room.TEMPORARY) for path in kept()] == [True] * len(kept()) != []
    assert ask() == TEXT
    assert len(kept()) == 3


def test_a_file_is_flushed_before_it_has_its_name_and_the_name_after(
    ask: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a crash of the machine leaves names without content."""
    calls: list[str] = []
    flush, rename = os.fsync, os.replace

    def noted_flush(descriptor: int) -> None:
        calls.append("directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        flush(descriptor)

    def noted_rename(*arguments: str, **options: int) -> None:
        calls.append("name")
        rename(*arguments, **options)

    monkeypatch.setattr(os, "fsync", noted_flush)
    monkeypatch.setattr(os, "replace", noted_rename)
    ask()
    assert calls == ["file", "name", "directory"]


# Strangers --------------------------------------------------------------------------------------------------------------


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a path belong to somebody else: by root really, else by being somebody else."""
    if os.geteuid() == 0:
        os.chown(path, STRANGER, STRANGER)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: STRANGER)


def test_the_room_is_for_its_owner_alone_whatever_the_mask(ask: Maker) -> None:
    mask = os.umask(0)
    try:
        ask()
    finally:
        os.umask(mask)
    (file,) = kept()
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (file.parent.parent, file.parent, file)]
    assert modes == [0o700, 0o700, 0o600]


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777, 0o1777])
def test_a_room_that_others_may_write_to_is_not_used(mode: int, ask: Maker, logged: list[str]) -> None:
    ask()
    disk_cache.place().chmod(mode)
    assert [ask(), ask()] == [TEXT, TEXT]
    assert ask.made == 2  # from memory
    assert len(logged) == 1 and "others may write to it" in logged[0]


def test_a_room_of_somebody_else_is_not_used(ask: Maker, logged: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ask()
    give_away(disk_cache.place(), monkeypatch)
    assert [ask(), ask()] == [TEXT, TEXT]
    assert ask.made == 2
    assert len(logged) == 1 and "belongs to another user" in logged[0]


@pytest.mark.parametrize("how", ["given", "open"])
def test_a_file_of_somebody_else_is_made_again(
    how: str, ask: Maker, logged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask()
    (file,) = kept()
    if how == "open":
        file.chmod(0o666)
    elif os.geteuid() == 0:
        give_away(file, monkeypatch)
    else:
        pytest.skip("only root can give a file away and keep its room")
    assert [ask(), ask()] == [TEXT, TEXT]
    assert ask.made == 2
    assert len(logged) == 1 and "is not trusted" in logged[0]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and file.stat().st_uid == os.geteuid()


def test_a_room_exchanged_for_a_link_is_not_used(ask: Maker, logged: list[str], tmp_path: Path) -> None:
    ask()
    disk_cache.place().rename(tmp_path / "elsewhere")
    disk_cache.place().symlink_to(tmp_path / "elsewhere")
    assert ask() == TEXT
    assert ask.made == 2
    assert len(logged) == 1


ASK = """
import logging, os, sys
from catena import disk_cache
if sys.argv[1] != "":
    os.setgroups([])
    os.setuid(int(sys.argv[1]))
logging.getLogger("catena").setLevel("INFO")
for request in ("filled", "new " + sys.argv[1]):
    print(disk_cache.find("text", request))
    disk_cache.keep("text", request, b"x")
"""


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that everybody can look into; those of pytest are private."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_filled_cache_of_root_serves_others_who_cannot_write_to_it(public: Path) -> None:
    """The twin: what a stranger owns serves nobody else."""
    cache = public / "cache"
    assert run_python(ASK, "", CATENA_CACHE_DIR=cache)[0].split() == ["None", "None"]
    for path in (cache, *cache.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    output, messages = run_python(ASK, STRANGER, CATENA_CACHE_DIR=cache)
    assert output.split() == ["b'x'", "None"]
    assert messages.count("is of no use (Permission denied)") == 1
    os.chown(cache / "kept", STRANGER, STRANGER)
    output, messages = run_python(ASK, STRANGER + 1, CATENA_CACHE_DIR=cache)
    assert output.split() == ["None", "None"]
    assert "belongs to another user" in messages


# Disks that refuse ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS], ids=errno.errorcode.get)
@pytest.mark.parametrize("function", ["open", "fsync", "replace"])
def test_a_disk_that_refuses_leaves_memory(
    number: int, function: str, ask: Maker, logged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = getattr(os, function)

    def refuse(*arguments: object, **options: object) -> object:
        if function == "open" and not int(str(arguments[1])) & os.O_CREAT:
            return usual(*arguments, **options)
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as refusing:
        refusing.setattr(os, function, refuse)
        assert [ask(), ask()] == [TEXT, TEXT]
    assert ask.made == 1
    assert len(logged) == 1 and os.strerror(number) in logged[0]
    assert not list(disk_cache.place().glob(f"{room.TEMPORARY}*"))


FULL = """
import resource
from catena import disk_cache
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
for size in (4000, 1):
    disk_cache.keep("text", f"{size}", size * b"x")
    print(len(disk_cache.find("text", f"{size}")))
"""


def test_a_file_that_becomes_too_large_for_the_system_is_not_kept(tmp_path: Path) -> None:
    output, messages = run_python(FULL, CATENA_CACHE_DIR=tmp_path)
    assert output.split() == ["4000", "1"]
    assert messages.count("is of no use (File too large)") == 1
    assert len(list((tmp_path / "kept").iterdir())) == 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 kB, where the system lets us have one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_leaves_memory(small_disk: Path, logged: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(disk_cache.VARIABLE, str(small_disk))
    texts = {f"{k}": f"{k}" * 10_000 for k in range(12)}
    for request, text in (*texts.items(), *texts.items()):
        assert disk_cache.remember(request, lambda text=text: text) == text
    assert len(logged) == 1 and "No space left on device" in logged[0]
    assert 0 < len(kept()) < len(texts)


# Tidying ----------------------------------------------------------------------------------------------------------------


def leave(name: str, *, days: float, size: int = 10, folder: Path | None = None) -> Path:
    """A file that was used some days ago."""
    path = (folder or disk_cache.place()) / name
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_bytes(bytes(size))
    os.utime(path, (0, time.time() - days * room.DAY))
    return path


def test_files_of_other_versions_go_once_they_are_not_used() -> None:
    used = leave(f"code-0.0.9-{0:024x}", days=5)
    unused = leave(f"code-0.0.9-{1:024x}", days=31)
    own = leave(f"code-{room.__version__}-{2:024x}", days=400)
    foreign = leave("notes.txt", days=400)
    tidying.tidy()
    assert [path.exists() for path in (used, unused, own, foreign)] == [True, False, True, True]


def test_beyond_the_limit_what_was_used_longest_ago_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidying, "LIMIT", 35)
    files = [leave(f"text-{room.__version__}-{k:024x}", days=k) for k in range(6)]
    tidying.tidy()
    assert [path.exists() for path in files] == [True, True, True, False, False, False]
    assert [file.name for file in tidying.contents()] == [path.name for path in files[:3]]


def test_what_is_used_counts_as_new(ask: Maker, logged: list[str]) -> None:
    ask()
    (file,) = kept()
    os.utime(file, (0, time.time() - 40 * room.DAY))
    ask()
    assert ask.made == 1
    assert time.time() - file.stat().st_mtime < room.DAY


def test_what_killed_processes_and_the_time_before_the_room_left_goes(tmp_path: Path) -> None:
    disk_cache.remember("request", lambda: TEXT)
    before = disk_cache.place().parent
    name = f"{room.TEMPORARY}1-2-{3:016x}"
    old = [
        leave(name, days=1),
        leave(f"catena_made_{0:024x}.txt", days=31, folder=before),
        leave(f"catena_generated_{0:024x}.advance-170.py311.1.nbc", days=31, folder=before / "__pycache__"),
    ]
    new = [
        leave(name.replace("1-2", "1-3"), days=0),
        leave(f"catena_made_{1:024x}.txt", days=1, folder=before),
        leave("mine.txt", days=31, folder=before),
    ]
    tidying.tidy()
    assert not any(path.exists() for path in old)
    assert all(path.exists() for path in new)
    assert len(list(disk_cache.place().glob("text-*"))) == 1


CROWD = """
import sys
from catena import disk_cache
from catena.disk_cache import tidying
tidying.LIMIT = 3000
for k in range(60):
    text = b"%d" % (k % 7) * 900
    assert disk_cache.find("text", f"{k % 7}") in (text, None)
    disk_cache.keep("text", f"{k % 7}", text)
    tidying.tidy()
"""


def test_processes_that_write_read_and_tidy_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), disk_cache.VARIABLE: str(tmp_path)}
    crowd = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", CROWD], env=environment, stderr=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    told = [process.communicate(timeout=600)[1] for process in crowd]
    assert [process.returncode for process in crowd] == [0, 0, 0], told
    assert told == ["", "", ""]
    assert not list((tmp_path / "kept").glob(f"{room.TEMPORARY}*"))
