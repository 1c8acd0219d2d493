"""What a command line does to files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.ledger import Action
from clew.ledger.command_line import _parse, simple_commands
from clew.ledger.shell import Touch, effects, normal_path

READ, WRITTEN, MODIFIED = Action.READ, Action.WRITTEN, Action.MODIFIED
DELETED, MOVED, CREATED, FETCHED = Action.DELETED, Action.MOVED, Action.CREATED, Action.FETCHED
RESTORED = Action.RESTORED


@pytest.mark.parametrize(
    ("line", "touches"),
    [
        ("cat a.py", [Touch(READ, "a.py")]),
        ("head -n 20 a.py | grep x", [Touch(READ, "a.py")]),
        ("sed -n '1,20p' src/a.py", [Touch(READ, "src/a.py")]),
        ("sed -i 's/a b/c/' a.py b.py", [Touch(MODIFIED, "a.py"), Touch(MODIFIED, "b.py")]),
        ("sed -i '' -e 's/a/b/' a.py", [Touch(MODIFIED, "a.py")]),
        ("perl -pi -e 's/a/b/' a.py", [Touch(MODIFIED, "a.py")]),
        ("perl script.pl", []),
        ("echo hi > out.txt", [Touch(WRITTEN, "out.txt")]),
        ("echo hi >> logs/out", [Touch(WRITTEN, "logs/out")]),
        ("make 2>&1 >/dev/null", []),
        ("make > build.log 2>&1", [Touch(WRITTEN, "build.log")]),
        ("ls | tee -a list.txt", [Touch(WRITTEN, "list.txt")]),
        ("rm -rf build/ 'a b.txt'", [Touch(DELETED, "build/"), Touch(DELETED, "a b.txt")]),
        ("rm *.pyc $TMP", []),
        ("mv a.py b.py", [Touch(MOVED, "a.py", "b.py")]),
        ("mv a.py b.py lib/", [Touch(MOVED, "a.py", "lib/a.py"), Touch(MOVED, "b.py", "lib/b.py")]),
        ("cp a.py lib/", [Touch(WRITTEN, "lib/a.py")]),
        ("touch a b", [Touch(WRITTEN, "a"), Touch(WRITTEN, "b")]),
        ("cd api && cat ~/notes.md /etc/hosts", [Touch(READ, "~/notes.md"), Touch(READ, "/etc/hosts")]),
        ("Get-Content -Raw docs\\setup\\a.md", [Touch(READ, "docs/setup/a.md")]),
        (
            r"cat C:\\Users\\me\\a.md; cat 'C:\me\b.md'",
            [Touch(READ, "C:/Users/me/a.md"), Touch(READ, "C:/me/b.md")],
        ),
        (r"cat a\ b.txt", [Touch(READ, "a b.txt")]),
        ("git mv a.py b.py", [Touch(MOVED, "a.py", "b.py")]),
        ("git rm --cached a.py && git rm b.py", [Touch(DELETED, "b.py")]),
        ("git checkout -- a.py", [Touch(RESTORED, "a.py")]),
        ("git restore a.py", [Touch(RESTORED, "a.py")]),
        ("git checkout main", []),
        (
            "git checkout src/a.py b.md",
            [Touch(RESTORED, "src/a.py"), Touch(RESTORED, "b.md")],
        ),
        ("git checkout HEAD~1 src/a.py", [Touch(MODIFIED, "src/a.py")]),
        ("git checkout -b fix/a.py", []),
        ("git checkout release/1.2", []),
        ("curl -s https://x.org/a | jq .", [Touch(FETCHED, "https://x.org/a")]),
        (
            "curl -o AGENTS.md https://x.org/a",
            [Touch(WRITTEN, "AGENTS.md"), Touch(FETCHED, "https://x.org/a")],
        ),
        ("curl --output=b.md https://x.org/a", [Touch(WRITTEN, "b.md"), Touch(FETCHED, "https://x.org/a")]),
        ("wget -O b.md https://x.org/a", [Touch(WRITTEN, "b.md"), Touch(FETCHED, "https://x.org/a")]),
        ("curl -O https://x.org/a", [Touch(FETCHED, "https://x.org/a")]),
        ("dd if=/tmp/x of=AGENTS.md", [Touch(WRITTEN, "AGENTS.md")]),
        ("ln -sf /tmp/x AGENTS.md", [Touch(WRITTEN, "AGENTS.md")]),
        ("""python3 -c "open('AGENTS.md', 'w').write('x')" """, [Touch(WRITTEN, "AGENTS.md")]),
        ("""node -e "fs.writeFileSync('AGENTS.md', 'x')" """, [Touch(WRITTEN, "AGENTS.md")]),
        ("""python3 -c "print(open('AGENTS.md').read())" """, []),
        ("cd src && rm a.py; cat b.py", [Touch(DELETED, "src/a.py"), Touch(READ, "src/b.py")]),
        ("FOO=1 sudo rm a.py", [Touch(DELETED, "a.py")]),
        ("# rm a.py\nrm b.py", [Touch(DELETED, "b.py")]),
        ("Remove-Item a.txt -Force", [Touch(DELETED, "a.txt")]),
        ("python - <<'EOF'\nrm a.py\n> b.py\nEOF\nrm c.py", [Touch(DELETED, "c.py")]),
        ("python - <<E\nopen('a.py', 'w').write(open('b.py').read())\nE", [Touch(MODIFIED, "a.py")]),
        ("python3 - <<E\np = Path('a.py')\nprint('b.py')\np.write_text('x')\nE", [Touch(WRITTEN, "a.py")]),
        ("python3 - <<E\nPath('a.py').write_text(Path('a.py').read_text())\nE", [Touch(MODIFIED, "a.py")]),
        (
            "python <<E\nfor f in ['a.py', 'b.py']:\n  s = open(f).read()\n  open(f, 'w').write(s)\nE",
            [Touch(MODIFIED, "a.py"), Touch(MODIFIED, "b.py")],
        ),
        ("python - <<E\nprint(open('a.py').read())\nE", []),
        ("node - <<E\nfs.writeFileSync('a.js', 'x')\nE", [Touch(WRITTEN, "a.js")]),
        (
            "git apply <<E\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\nE\nrm b.py",
            [Touch(MODIFIED, "a.py"), Touch(DELETED, "b.py")],
        ),
        ("cat <<E | patch -p1\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\nE", [Touch(MODIFIED, "a.py")]),
        ("cat <<E\n--- a/a.py\n+++ b/a.py\nE", []),
        ("cat > a.py <<EOF\nx > 1\nEOF", [Touch(WRITTEN, "a.py")]),
        ("cat <<'EOF' > a.py && rm b.py\nx\nEOF", [Touch(WRITTEN, "a.py"), Touch(DELETED, "b.py")]),
        ("cat > a.py <<EOF\nnever closed", [Touch(WRITTEN, "a.py")]),
        ("git commit -m 'a > b.txt'", []),
        ("echo 'it is open > b.txt", [Touch(WRITTEN, "b.txt")]),
        (
            "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.py\n+x\n*** End Patch\nEOF",
            [Touch(CREATED, "a.py")],
        ),
    ],
)
def test_a_command_line_is_read_without_running_it(line, touches):
    assert effects(line) == touches


def test_paths_are_seen_from_the_folder_the_command_runs_in():
    assert effects("rm a.py /tmp/b.py", "/repo") == [
        Touch(DELETED, "/repo/a.py"),
        Touch(DELETED, "/tmp/b.py"),
    ]


def test_quotes_and_breaks_keep_words_together():
    words = [command.words for command in simple_commands('a \'b c\' "d \\" e" f\\ g \\\n h | i')]
    assert words == [["a", "b c", 'd \\" e', "f g", "h"], ["i"]]


def test_a_command_line_without_end_is_read_to_its_limit():
    assert effects("rm a.py; " + "x" * 100_000 + "; rm b.py") == [Touch(DELETED, "a.py")]


@given(
    st.lists(st.sampled_from(["ls", "-l", "a.py", "x=1", " ", "\t", "\r", "\x0b", "~", "$A", "*"])).map(
        " ".join
    )
)
def test_a_plain_line_is_read_as_any_other(line):
    assert list(simple_commands(line)) == list(_parse(line))


def test_an_absolute_path_of_windows_is_in_no_working_directory():
    folder = "C:\\Projects\\shop"
    line = "Get-Content -Raw D:\\notes\\a.md; Get-Content docs\\b.md; type README.md"
    names = [normal_path(touch.name) for touch in effects(line, folder)]
    assert names == ["D:/notes/a.md", "C:/Projects/shop/docs/b.md"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("src/./a.py", "src/a.py"),
        ("file:///repo/a.py", "/repo/a.py"),
        ("agent://0-Review", "agent://0-Review"),
        ("https://example.org/a//b", "https://example.org/a//b"),
        ("C:\\repo\\src\\..\\a.py", "C:/repo/a.py"),
        ("odd\\name.txt", "odd\\name.txt"),
    ],
)
def test_a_path_is_normal_and_an_address_stays(path: str, name: str):
    assert normal_path(path) == name
