#!/usr/bin/env python3
"""flc pkg, on repositories and unpacked releases that are laid out as published libraries are: pkg.py FLC."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FLC = Path(sys.argv[1]).resolve()
ENVIRONMENT = {**os.environ, "LC_ALL": "C", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1",
               "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "A",
               "GIT_COMMITTER_EMAIL": "a@b", "GIT_COMMITTER_DATE": "2026-03-04T05:06:07Z", "NO_COLOR": "1"}
failures = 0


def expect(holds, message):
    global failures
    if not holds:
        failures += 1
        print(f"FAIL {message}")


def run(*command, cwd):
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=ENVIRONMENT, text=True, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def git(*words, cwd):
    status, output = run("git", *words, cwd=cwd)
    assert status == 0, output
    return output.strip()


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


# ---- packages

def manifest(path, requires):
    lines = "".join(f"  {required}\n" for required in requires)
    return f"package {path}\n\nrequire {{\n{lines}}}\n"


def release(remotes, path, version, files, requires=(), tag=("-a", "-m", "a release")):
    """A commit of the package with a tag (-a: an object of its own); its hash."""
    repository = remotes / path.split("@")[0]
    if not repository.exists():
        repository.mkdir(parents=True)
        git("init", "-q", cwd=repository)
    write(repository / "futhark.pkg", manifest(path, requires))
    shutil.rmtree(repository / "lib", ignore_errors=True)
    for name, text in files.items():
        write(repository / "lib" / path / name, text)
    write(repository / "NEWS.txt", f"# {path}\n")
    git("add", "-A", cwd=repository)
    git("commit", "-q", "--allow-empty", "-m", f"version {version}", cwd=repository)
    if version:
        git("tag", *tag, f"v{version}", cwd=repository)
    return git("rev-parse", "HEAD", cwd=repository)


SCALED = """-- | Vectors times numbers.
module type scaled = { type t
  val scale [n] : t -> [n]t -> [n]t }
module mk_scaled (T: { type t val * : t -> t -> t }): scaled with t = T.t = {
  type t = T.t
  def scale [n] (k: t) (xs: [n]t) : [n]t = map (T.* k) xs
}
"""
COUNTER = """module counter : { type c
  val start : c
  val next : c -> c
  val get : c -> i32 } = { type c = i32
  def start = 10i32
  def next (c: i32) = c + 1
  def get (c: i32) = c }
"""
TOTALS = """import "../counter/counter"
def after (n: i64) : counter.c = loop c = counter.start for _i < n do counter.next c
"""
MAIN = """import "lib/github.com/north/scaled/scaled"
import "lib/github.com/south/totals/totals"
import "lib/github.com/south/counter/counter"
module s = mk_scaled i32
entry main (xs: []i32) = (s.scale 2 xs, counter.get (counter.next (after 4)))
"""


def make_packages(remotes):
    counter, totals, scaled = "github.com/south/counter", "github.com/south/totals", "github.com/north/scaled"
    commits = {
        "counter": release(remotes, counter, "0.1.0", {"counter.fut": COUNTER.replace("10i32", "0i32")}),
        "counter 0.1.5": release(remotes, counter, "0.1.5", {"counter.fut": COUNTER}, tag=()),
        "counter 1.0.0": release(remotes, counter, "1.0.0", {"counter.fut": COUNTER, "extra/more.fut": "def x = 1\n"}),
        "scaled": release(remotes, scaled, "0.2.0", {"scaled.fut": SCALED})}
    release(remotes, counter, "1.1.0-rc.2", {"counter.fut": COUNTER})
    release(remotes, counter, "1.1.0-rc.10", {"counter.fut": COUNTER})
    release(remotes, f"{counter}@2", "2.0.0", {"counter.fut": COUNTER.replace("10i32", "20i32")})
    commits["totals"] = release(remotes, totals, "0.3.0", {"totals.fut": TOTALS}, [f"{counter} 0.1.5"])
    return commits


class Project:
    """A folder with a program in it."""

    def __init__(self, folder, remotes):
        self.folder, self.remotes = folder, remotes
        folder.mkdir()

    def pkg(self, *words):
        return run(FLC, "pkg", "--from", self.remotes, *words, cwd=self.folder)

    def passes(self, *words, says=""):
        status, output = self.pkg(*words)
        expect(status == 0 and says in output, f"pkg {' '.join(words)}: {status} {output}")
        return output

    def fails(self, *words, says):
        before = self.snapshot()
        status, output = self.pkg(*words)
        expect(status == 1 and says in output, f"pkg {' '.join(words)}: {status} {output}, expected {says}")
        expect(self.snapshot() == before, f"pkg {' '.join(words)} changed something, although it failed")

    def read(self, name):
        path = self.folder / name
        return path.read_text(encoding="utf-8") if path.exists() else None

    def snapshot(self):
        return {str(p.relative_to(self.folder)): p.read_bytes() for p in sorted(self.folder.rglob("*")) if p.is_file()}


# ---- what is tried

def test_first_use(project, commits):
    project.fails("sync", says="cannot read futhark.pkg")
    project.passes("add", "github.com/north/scaled", says="github.com/north/scaled 0.2.0")
    expect(project.read("futhark.pkg") == f"require {{\n  github.com/north/scaled 0.2.0 #{commits['scaled']}\n}}\n",
           project.read("futhark.pkg"))
    project.passes("add", "github.com/south/totals", "0.3.0")
    project.passes("add", "github.com/south/counter", "0.1.0")
    expect(not (project.folder / "lib").exists(), "add makes lib/")
    project.fails("check", says="there is no flc.lock")
    write(project.folder / "main.fl", MAIN)
    status, output = run(FLC, "check", "main.fl", cwd=project.folder)
    expect(status == 1 and "flc pkg sync" in output, f"check without lib/: {output}")
    project.passes("sync", says="lib/github.com/south/counter 0.1.5")
    expect(project.read("lib/github.com/south/counter/counter.fut") == COUNTER, "counter.fut")
    expect(not (project.folder / "lib/github.com/south/counter/NEWS.txt").exists(), "files outside of lib/ are there")
    expect(sorted(os.listdir(project.folder / "lib")) == ["github.com"], "there is more in lib/")
    status, output = run("sh", "-c", f"echo '[1, 2]' | {FLC} eval main.fl", cwd=project.folder)
    expect(status == 0 and output == "[2i32, 4i32]\n15i32\n", f"the program: {output}")
    project.passes("check")
    lock = project.read("flc.lock")
    expect(f"package github.com/south/counter 0.1.5 {commits['counter 0.1.5']} " in lock, lock)


def test_again(project, commits):
    before = project.snapshot()
    away = project.remotes.with_name("away")
    project.remotes.rename(away)
    project.passes("sync", says="lib/ is as flc.lock says")
    away.rename(project.remotes)
    shutil.rmtree(project.folder / "lib")
    project.fails("check", says="is not there")
    project.passes("sync")
    expect(project.snapshot() == before, "sync does not make what there was")


def test_changes_by_hand(project):
    path = project.folder / "lib/github.com/south/counter/counter.fut"
    before = project.snapshot()
    path.write_text(COUNTER + "-- mine\n", encoding="utf-8")
    project.fails("check", says="lib/github.com/south/counter is not as flc.lock says\nhint: `flc pkg sync --force` replaces")
    project.fails("sync", says="it is not as a package left it")
    project.passes("sync", "--force")
    expect(project.snapshot() == before, "--force does not put it right")
    write(project.folder / "lib/mine.fl", "def one = 1\n")
    write(project.folder / "lib/github.com/me/own.fl", "def one = 1\n")


def test_upgrade(project, commits):
    project.passes("versions", "github.com/south/counter", says="0.1.0\n0.1.5\n1.0.0\n1.1.0-rc.2\n1.1.0-rc.10\n")
    expect(project.pkg("versions", "github.com/south/counter@2")[1] == "2.0.0\n", "versions of @2")
    later = "github.com/south/counter has 2.0.0, too: `flc pkg add github.com/south/counter@2` takes it\n"
    for words in [["versions", "github.com/south/counter"], ["add", "github.com/south/counter"], ["upgrade"]]:
        text = project.read("futhark.pkg")
        project.passes(*words, says=later)
        write(project.folder / "futhark.pkg", text)
    for words in [["add", "github.com/south/counter", "0.1.0"], ["-q", "add", "github.com/south/counter"]]:
        text = project.read("futhark.pkg")
        expect(later not in project.passes(*words), f"{words} need not hear of another version")
        write(project.folder / "futhark.pkg", text)
    text = project.read("futhark.pkg").replace("require {", "-- mine\nrequire {  -- too")
    write(project.folder / "futhark.pkg", text)
    project.passes("upgrade", says="github.com/south/counter 0.1.0 -> 1.0.0\n")
    after = project.read("futhark.pkg")
    expect(after.startswith("-- mine\nrequire {  -- too\n  github.com/north/scaled 0.2.0 #"), after)
    project.passes("add", "github.com/south/counter", "1.1.0-rc.10")
    project.passes("add", "github.com/south/counter", "1.0.0")
    expect(f"  github.com/south/counter 1.0.0 #{commits['counter 1.0.0']}\n" in project.read("futhark.pkg"), "add again")
    project.fails("check", says="futhark.pkg has changed since")
    project.passes("sync", says="lib/github.com/south/counter 1.0.0")
    expect(project.read("lib/github.com/south/counter/extra/more.fut") == "def x = 1\n", "the folder extra")
    project.passes("check")


def test_remove(project):
    project.passes("remove", "github.com/south/totals")
    project.passes("remove", "github.com/south/counter")
    project.fails("remove", "github.com/south/counter", says="does not require `github.com/south/counter`")
    project.passes("sync")
    expect(not (project.folder / "lib/github.com/south").exists(), "what is not needed is still there")
    expect(project.read("lib/mine.fl") and project.read("lib/github.com/me/own.fl"), "files of one's own are gone")
    project.passes("remove", "github.com/north/scaled")
    project.passes("sync")
    expect(not (project.folder / "lib/github.com/north").exists(), "the last package is still there")


def test_versions_side_by_side(project):
    project.passes("add", "github.com/south/counter@2")
    project.passes("add", "github.com/south/counter", "0.1.0")
    project.passes("sync")
    expect("20i32" in project.read("lib/github.com/south/counter@2/counter.fut"), "version 2")
    expect(" 0i32" in project.read("lib/github.com/south/counter/counter.fut"), "version 0")
    project.fails("add", "github.com/south/counter", "2.0.0", says="hint: versions of that number belong to `github.com/south/counter@2`")


def test_commits(project, remotes):
    commit = release(remotes, "github.com/south/young", None, {"young.fut": "def y = 1\n"})
    project.passes("add", "github.com/south/young", says=f"0.0.0-20260304050607+{commit}")
    project.passes("sync")
    release(remotes, "github.com/south/young", None, {"young.fut": "def y = 2\n"})
    shutil.rmtree(project.folder / "lib")
    project.passes("sync")
    expect(project.read("lib/github.com/south/young/young.fut") == "def y = 1\n", "an older commit")


def test_moved_tags(project, remotes):
    release(remotes, "github.com/north/moved", "1.0.0", {"a.fut": "def a = 1\n"})
    project.passes("add", "github.com/north/moved")
    project.passes("sync")
    git("tag", "-d", "v1.0.0", cwd=remotes / "github.com/north/moved")
    release(remotes, "github.com/north/moved", "1.0.0", {"a.fut": "def a = 2\n"})
    shutil.rmtree(project.folder / "lib")
    project.fails("sync", says="somebody has moved the tag v1.0.0")
    own = project.read("futhark.pkg")
    write(project.folder / "futhark.pkg", own[:own.index(" #")] + "\n}\n")
    project.fails("sync", says="`github.com/north/moved` 1.0.0 is not what it was when flc.lock was written")
    write(project.folder / "futhark.pkg", own)
    project.fails("check", says="futhark.pkg:2:")


def test_folders(folder, commits):
    """Releases that were unpacked, without git."""
    remotes = folder / "unpacked"
    for version, value in [("0.1.0", 1), ("0.9.0", 2), ("0.10.0", 3)]:
        top = remotes / "gitlab.com/west/plain" / f"v{version}"
        write(top / "futhark.pkg", manifest("gitlab.com/west/plain", []))
        write(top / "lib/gitlab.com/west/plain/plain.fl", f"def value = {value}i32\n")
    project = Project(folder / "plain", remotes)
    project.passes("add", "gitlab.com/west/plain", says="0.10.0")
    project.passes("sync")
    expect("value = 3" in project.read("lib/gitlab.com/west/plain/plain.fl"), "the newest folder")
    expect("package gitlab.com/west/plain 0.10.0 - " in project.read("flc.lock"), "the lock of a folder")
    write(remotes / "gitlab.com/west/plain/v0.10.0/lib/gitlab.com/west/plain/plain.fl", "def value = 4i32\n")
    shutil.rmtree(project.folder / "lib")
    project.fails("sync", says="is not what it was when flc.lock was written")
    os.symlink("/etc/passwd", remotes / "gitlab.com/west/plain/v0.9.0/lib/gitlab.com/west/plain/link.fl")
    project.fails("add", "gitlab.com/west/plain", "0.9.0", says="link.fl is neither file nor folder")


def test_network(folder, remotes):
    """Without --from, by the configuration of git."""
    settings = folder / "gitconfig"
    write(settings, f'[url "file://{remotes}/"]\n\tinsteadOf = https://\n')
    ENVIRONMENT["GIT_CONFIG_GLOBAL"] = str(settings)
    project = Project(folder / "net", folder / "nothing")
    project.passes("add", "github.com/south/totals", says="0.3.0")
    project.passes("sync", says="lib/github.com/south/counter 0.1.5")
    project.fails("add", "github.com/south/absent", says="cannot reach https://github.com/south/absent\nnote: git says: '")
    write(project.folder / "futhark.pkg", "require {\n  github.com/south/absent 1.0.0\n}\n")
    project.fails("sync", says="futhark.pkg:2:3: note: `github.com/south/absent` is required here")
    ENVIRONMENT["GIT_CONFIG_GLOBAL"] = "/dev/null"
    project = Project(folder / "variable", folder / "nothing")
    ENVIRONMENT["FLC_PACKAGES"] = f"{folder}/nowhere:{remotes}"
    project.passes("versions", "github.com/north/scaled", says="0.2.0")
    del ENVIRONMENT["FLC_PACKAGES"]


def test_nothing_runs(folder):
    """Hooks, filters and links of a repository are of no effect."""
    remotes, proof = folder / "evil", folder / "proof"
    path = "github.com/east/evil"
    release(remotes, path, "0.1.0", {"a.fl": "def a = 1\n", ".gitattributes": "*.fl filter=bad\n"})
    repository = remotes / path
    git("config", "filter.bad.smudge", f"touch {proof}", cwd=repository)
    git("config", "core.fsmonitor", f"touch {proof}", cwd=repository)
    git("config", "uploadpack.packObjectsHook", f"touch {proof}", cwd=repository)
    for hook in ["post-checkout", "pre-receive", "reference-transaction", "post-merge"]:
        write(repository / ".git/hooks" / hook, f"#!/bin/sh\ntouch {proof}\n")
        (repository / ".git/hooks" / hook).chmod(0o755)
    project = Project(folder / "careful", remotes)
    project.passes("add", path)
    project.passes("sync")
    expect(not proof.exists(), "code of a package was run")
    os.symlink("/etc/passwd", repository / "lib" / path / "link.fl")
    (repository / ".git/hooks/reference-transaction").unlink()
    git("add", "-A", cwd=repository)
    git("commit", "-q", "-m", "a link", cwd=repository)
    git("tag", "v0.2.0", cwd=repository)
    project.fails("add", path, "0.2.0", says="holds a link or a repository, link.fl")


def test_init(project):
    umask = os.umask(0o022)
    project.passes("init", "github.com/me/edda")
    os.umask(umask)
    expect((project.folder / "lib/github.com").stat().st_mode & 0o777 == 0o755, "others can read the package")
    expect(project.read("futhark.pkg") == "package github.com/me/edda\n\nrequire {\n}\n", project.read("futhark.pkg"))
    project.fails("init", "github.com/me/edda", says="there is a futhark.pkg already")
    project.fails("check", says="there is no program in lib/github.com/me/edda")
    write(project.folder / "lib/github.com/me/edda/saga.fl", 'import "../../south/counter/counter"\ndef s = counter.get counter.start\n')
    project.passes("add", "github.com/south/counter", "0.1.0")
    project.passes("sync")
    project.passes("check")
    status, output = run(FLC, "check", "lib/github.com/me/edda/saga.fl", cwd=project.folder)
    expect(status == 0, f"a package that imports another: {output}")


def test_circles(project, remotes):
    """Packages may require each other, but not the one that is being made."""
    release(remotes, "github.com/loop/a", "1.0.0", {"a.fut": "def a = 1\n"}, ["github.com/loop/b 1.0.0"])
    release(remotes, "github.com/loop/b", "1.0.0", {"b.fut": "def b = 2\n"}, ["github.com/loop/a 1.0.0"])
    project.passes("add", "github.com/loop/a")
    project.passes("sync", says="lib/github.com/loop/b 1.0.0")
    own = project.read("futhark.pkg")
    write(project.folder / "futhark.pkg", "package github.com/loop/b\n" + own)
    project.fails("check", says="`github.com/loop/b` is required by what it requires itself")


MISTAKES = [
    ("require github.com/a/b", "futhark.pkg:1:9: error: expected `{` after `require`"),
    ("require {\n  github.com/a/b 1.0\n}\n", "futhark.pkg:2:18: error: expected a version such as 1.2.3, found `1.0`"),
    ("require {\n  github.com/a/b 01.0.0\n}\n", "expected a version"),
    ("require {\n  github.com/a/b 1.0.0 #xyz\n}\n", "expected the hash of a commit"),
    ("require {\n  github.com/a/b 1.0.0\n", "expected `}` at the end of `require`"),
    ("require {\n  github.com/a/b 1.0.0\n  github.com/a/b 1.0.0\n}\n", "is required twice"),
    ("require {\n  github.com/a/b 3.0.0\n}\n", "belongs to the path: github.com/a/b@3"),
    ("require {\n  ../b 1.0.0\n}\n", "is no path of a package"),
    ("require {\n  -x/b 1.0.0\n}\n", "is no path of a package"),
    ("require {\n  a//b 1.0.0\n}\n", "is no path of a package"),
    ("package nothing\n", "is no path of a package"),
    ("packages a/b\n", "expected `package` or `require`, found `packages`"),
    ("package a/b\nrequire {\n}\nmore\n", "expected the end, found `more`"),
]


def test_mistakes(project):
    for text, message in MISTAKES:
        write(project.folder / "futhark.pkg", text)
        project.fails("sync", says=message)
    (project.folder / "futhark.pkg").unlink()
    project.fails("add", "github.com/south/nowhere.", "x", says="")
    project.fails("add", "--", "--upload-pack=x/y", says="is no path of a package")
    project.fails("add", "github.com/south/counter", "1.0", says="hint: without a version, the newest release is taken")
    project.fails("add", "github.com/south/counter", "v1.0.0", says="`v1.0.0` is no version such as 1.2.3\nhint: write `1.0.0`")
    for path in ["https://github.com/south/counter", "https://github.com/south/counter.git", "github.com/south/counter.git"]:
        project.fails("add", path, says="hint: write `github.com/south/counter`\n")
    project.fails("add", "github.com/south/counter", "7.0.0", says="the newest one is 1.0.0")
    project.fails("fetch", says="unknown action `fetch`")
    project.fails("add", says="too few words")
    write(project.folder / "futhark.pkg", "require {\n}\n")
    write(project.folder / "flc.lock", "package x\n")
    project.fails("sync", says="flc.lock:1:1: error: this is no line of a lock file")


def main():
    if shutil.which("git") is None:
        print("there is no git")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        remotes = folder / "remotes"
        commits = make_packages(remotes)
        project = Project(folder / "project", remotes)
        test_first_use(project, commits)
        test_again(project, commits)
        test_changes_by_hand(project)
        test_upgrade(project, commits)
        test_remove(project)
        test_versions_side_by_side(Project(folder / "both", remotes))
        test_commits(Project(folder / "commits", remotes), remotes)
        test_moved_tags(Project(folder / "moved", remotes), remotes)
        test_folders(folder, commits)
        test_network(folder, remotes)
        test_nothing_runs(folder)
        test_init(Project(folder / "edda", remotes))
        test_circles(Project(folder / "circles", remotes), remotes)
        test_mistakes(Project(folder / "mistakes", remotes))
    print("failed" if failures else "passed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
