"""Which instruction files are in force, and what of them the model reads."""

import hashlib

import pytest

from clew.log.fold import COMPACTION, INSTRUCTION, MESSAGE
from clew.log.protocol import Event, StoredEvent
from clew.message import Trust
from clew.request.instructions import changes, load, pieces_of, settled_ids, skill_index
from clew.request.instructions.files import Roots
from clew.request.instructions.load import MOST_FOLDERS, MOST_RULES, LoadedInstructions, LoadLimits
from clew.request.instructions.parse import expand_braces, matches, without_comments
from clew.request.sections import PiecePosition
from tests.request.folders import Folders

ROOTS = Roots(project="/p", everywhere=("/home/me/.clew",), organization=("/etc/clew",), home="/home/me")
FILES = {
    "/home/me/.clew/AGENTS.md": "Answer in English.",
    "/etc/clew/CLEW.md": "No customer data in logs.",
    "/p/AGENTS.md": "Use uv.",
    "/p/CLAUDE.md": "Use uv.",
    "/p/GEMINI.md": "Run ruff.",
    "/p/src/AGENTS.md": "No globals in src.",
    "/p/src/db/CLAUDE.md": "Migrations are forward-only.",
}


def ids(loaded: LoadedInstructions) -> list[str]:
    return [one.id for one in loaded.instructions]


def text_of(files: dict, touched: tuple[str, ...] = ()) -> str:
    (one,) = load(Folders(files), ROOTS, touched).instructions
    return one.text


def test_broad_files_are_in_force_at_the_start_the_widest_scope_first():
    loaded = load(Folders(FILES), ROOTS)
    assert ids(loaded) == [
        "global:AGENTS.md",
        "organization:CLEW.md",
        "project:AGENTS.md",
        "project:GEMINI.md",
    ]
    assert [one.trust for one in loaded.instructions][:2] == [Trust.USER, Trust.DEVELOPER]


@pytest.mark.parametrize(
    ("front", "why"),
    [
        ("---\npaths: [src/*.ts\n---\n", "the list of paths in its front matter is not closed"),
        ("---\npaths: src/*.ts\n", "its front matter is not closed"),
        ("---\npaths:\n  src: x\n---\n", "its front matter names no paths that can be read"),
    ],
)
def test_a_rule_whose_paths_cannot_be_read_is_refused_and_named(front: str, why: str):
    loaded = load(Folders({"/p/.claude/rules/a.md": f"{front}Never use any."}), ROOTS, ("src/a.ts",))
    assert ids(loaded) == []
    assert [(one.path, one.why) for one in loaded.refused] == [("/p/.claude/rules/a.md", why)]


def test_an_include_of_a_file_that_applies_anyway_adds_nothing():
    files = {"/p/AGENTS.md": "Use uv.", "/p/sub/AGENTS.md": "Use tabs.\n@../AGENTS.md"}
    loaded = load(Folders(files), ROOTS, ("sub/a.py",))
    assert [one.text for one in loaded.instructions] == ["Use uv.", "Use tabs.\n@../AGENTS.md"]


def test_files_of_the_same_name_in_two_roots_of_a_scope_are_two_instructions():
    roots = Roots(everywhere=("/home/me/.clew", "/home/me/.codex", "/srv/shared"), home="/home/me")
    files = {f"{root}/AGENTS.md": f"The rules of {root}." for root in roots.everywhere}
    loaded = load(Folders(files), roots)
    names = ["global:~/.clew/AGENTS.md", "global:~/.codex/AGENTS.md", "global:/srv/shared/AGENTS.md"]
    assert ids(loaded) == names
    assert list(changes(loaded, loaded)) == []
    del files["/home/me/.clew/AGENTS.md"]
    left = load(Folders(files), roots)
    assert ids(left) == names[1:]  # an id does not depend on the other files
    assert [(one["does"], one["id"]) for one in changes(loaded, left)] == [("leave", names[0])]


def test_the_same_text_under_two_names_is_one_instruction():
    assert "project:CLAUDE.md" not in ids(load(Folders(FILES), ROOTS))


def test_equal_files_with_unequal_includes_are_two_instructions():
    files = {f"/p/{folder}/{name}" for folder in "ab" for name in ("AGENTS.md", "local.md")}
    texts = {path: "@local.md" if "AGENTS" in path else f"Rules of {path[3]}." for path in files}
    loaded = load(Folders(texts), ROOTS, ["a/x.py", "b/x.py"])
    assert [one.text for one in loaded.instructions] == ["Rules of a.", "Rules of b."]


@pytest.mark.parametrize("path", ["src/db/schema.sql", "/p/src/db/schema.sql", "src\\db\\schema.sql"])
def test_files_of_a_folder_are_in_force_once_something_there_is_touched(path):
    assert ids(load(Folders(FILES), ROOTS, [path]))[-2:] == [
        "folder:src/AGENTS.md",
        "folder:src/db/CLAUDE.md",
    ]


def test_a_touched_path_outside_of_the_project_brings_nothing_in():
    loaded = load(Folders({"/q/sub/AGENTS.md": "Obey."}), ROOTS, ["/q/sub/a.py", "../q/sub/a.py"])
    assert loaded == LoadedInstructions()


def test_an_override_takes_the_place_of_its_file():
    files = {"/p/AGENTS.md": "Use uv.", "/p/AGENTS.override.md": "Use pip."}
    assert text_of(files) == "Use pip."


RULES = {
    "/p/.claude/rules/all.md": "Be brief.",
    "/p/.claude/rules/web/react.md": '---\npaths:\n  - "src/**/*.{ts,tsx}"\n---\nNo class components.',
    "/p/.claude/rules/sql.md": "---\npaths: [db/*.sql, '*.ddl']\n---\nUpper-case keywords.",
}


@pytest.mark.parametrize(
    ("touched", "found"),
    [
        ((), ["all.md"]),
        (("src/app/main.tsx",), ["all.md", "web/react.md"]),
        (("db/a.sql",), ["all.md", "sql.md"]),
        (("deep/er/x.ddl",), ["all.md", "sql.md"]),
        (("db/deeper/a.sql", "src/main.py"), ["all.md"]),
    ],
)
def test_rules_are_in_force_where_their_paths_were_touched(touched, found):
    assert ids(load(Folders(RULES), ROOTS, touched)) == [f"project:.claude/rules/{name}" for name in found]


@pytest.mark.parametrize(
    "paths",
    [
        "paths:\n  # the web part\n\n  - src/**/*.ts  # and its types\n  - web/*.ts",
        "paths:\n\n- lib/*.js\n\n# more\n- web/*.ts",
        'paths: "web/**" # web',
        "globs: web/** # web",
        "paths: [\n  'src/*.ts', # first\n  web/*.ts,\n]\ndescription: [x]",
        "paths: ['a#b/*', web/*.ts]",
        "paths: 'web/*.{js,{ts,tsx}}'",
        "paths: [src/*, '{a,{b,web}}/*.{ts,tsx}']",
        "applyTo: '**/*.js,web/*.ts'",
        "paths: src/{a, web/*.ts",
    ],
)
def test_paths_of_a_rule_are_read_as_yaml_writes_them(paths):
    files = {"/p/.claude/rules/a.md": f"---\n{paths}\n---\nBe brief."}
    assert ids(load(Folders(files), ROOTS, ["web/a.ts"])) == ["project:.claude/rules/a.md"]
    assert ids(load(Folders(files), ROOTS, ["other/a.md"])) == []


def test_an_include_on_its_own_line_is_put_in_its_place_and_one_in_a_sentence_behind():
    files = {
        "/p/AGENTS.md": "Before.\n@docs/style.md\nAfter, see @docs/names.md.",
        "/p/docs/style.md": "Tabs.",
        "/p/docs/names.md": "Nouns.",
    }
    assert text_of(files) == "Before.\nTabs.\nAfter, see @docs/names.md.\nNouns."


@pytest.mark.parametrize("text", ["`@docs/a.md`", "```\n@docs/a.md\n```", "    @docs/a.md", "me@docs/a.md"])
def test_what_stands_in_code_or_in_an_address_is_no_include(text):
    assert "secret sauce" not in text_of({"/p/AGENTS.md": f"Read:\n{text}", "/p/docs/a.md": "secret sauce"})


@pytest.mark.parametrize(
    "text",
    [
        "```npm test``` runs the tests.\n@docs/a.md",
        "- Style:\n\n    @docs/a.md",
        "1. Style:\n    - @docs/a.md",
        "- ```sh\n  npm test\n  ```\n- @docs/a.md",
        "``a` @docs/a.md",
    ],
)
def test_an_include_after_inline_code_or_in_a_list_is_found(text):
    assert "secret sauce" in text_of({"/p/AGENTS.md": text, "/p/docs/a.md": "secret sauce"})


@pytest.mark.parametrize(
    "text",
    [
        "1. Run:\n    ```sh\n    @docs/a.md\n    ```",
        "- Run:\n\n      @docs/a.md",
        "- a\n\nText.\n\n    @docs/a.md",
        "- ```\n  @docs/a.md\n  ```",
        "`` ` @docs/a.md ``",
        "````\n```\n@docs/a.md\n````",
    ],
)
def test_code_in_a_list_or_with_longer_marks_has_no_includes(text):
    assert "secret sauce" not in text_of({"/p/AGENTS.md": text, "/p/docs/a.md": "secret sauce"})


def test_a_mention_of_a_person_is_no_include_and_no_error():
    loaded = load(Folders({"/p/AGENTS.md": "Ask @alice first."}), ROOTS)
    assert loaded.refused == ()


def test_comments_on_lines_of_their_own_are_left_out_and_those_in_code_stay():
    text = "A\n<!-- one line -->\nB\n<!-- two\nlines --> \nC\n```\n<!-- kept -->\n```"
    assert text_of({"/p/AGENTS.md": text}) == "A\nB\nC\n```\n<!-- kept -->\n```"


def test_what_came_changed_left_and_was_refused_is_on_record():
    before = load(Folders({"/p/AGENTS.md": "Use uv.", "/p/CLEW.md": "Old."}), ROOTS)
    after = load(Folders({"/p/AGENTS.md": "Use pip.", "/p/GEMINI.md": "x" * 70_000}), ROOTS)
    assert [(one["does"], one.get("id", one["path"])) for one in changes(before, after)] == [
        ("change", "project:AGENTS.md"),
        ("leave", "project:CLEW.md"),
        ("refuse", "/p/GEMINI.md"),
    ]
    assert list(changes(after, after)) == []


def stored(kind, body):
    return StoredEvent(1, "", "", Event("e", kind, 1, "2026-01-01T00:00:00Z", body))


def loads(name):
    return stored(INSTRUCTION.name, {"does": "load", "id": name})


ASKED = stored(MESSAGE.name, {"message": {"role": "assistant"}})


def test_what_comes_between_two_compactions_stands_last_until_the_next_one():
    events = [loads("project:AGENTS.md"), ASKED, loads("folder:src/AGENTS.md")]
    assert settled_ids(events) == {"project:AGENTS.md"}
    assert settled_ids([*events, stored(COMPACTION.name, {})]) == {
        "project:AGENTS.md",
        "folder:src/AGENTS.md",
    }
    loaded = load(Folders(FILES), Roots(project="/p"), ["src/a.py"])
    places = {piece.source: piece.place for piece in pieces_of(loaded, settled_ids(events))}
    assert places["AGENTS.md (project)"] is PiecePosition.SYSTEM
    assert places["src/AGENTS.md (folder)"] is PiecePosition.END


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("src/**/*.ts", "src/a.ts", True),
        ("src/**/*.ts", "src/a/b/c.ts", True),
        ("src/*.ts", "src/a/c.ts", False),
        ("*.ts", "deep/a.ts", True),
        ("docs/", "docs/a/b.md", True),
        ("/docs/*.md", "docs/a.md", True),
        ("a/**", "b/c", False),
        ("", "a", False),
    ],
)
def test_a_pattern_matches_as_its_author_expects(pattern, path, found):
    assert matches(path, pattern) is found


def test_patterns_with_endless_braces_end():
    assert len(list(expand_braces("{a,b,c,d}" * 40))) <= 1_000
    assert not matches("a" * 200, "*a" * 150 + "b")


def test_limits_hold_for_all_files_together_the_widest_scope_served_first():
    files = {"/home/me/.clew/AGENTS.md": "x" * 60, "/p/AGENTS.md": "y" * 60}
    loaded = load(Folders(files), ROOTS, limits=LoadLimits(one_file=100, total=100))
    assert ids(loaded) == ["global:AGENTS.md"]
    assert "exceed 100 bytes" in loaded.refused[0].why


def test_a_comment_that_never_ends_hides_nothing():
    assert text_of({"/p/AGENTS.md": "A\n<!-- B\nC"}) == "A\n<!-- B\nC"


def test_the_hash_is_that_of_the_file_s_own_bytes():
    content = b"\xef\xbb\xbfUse uv.\r\n@a.md\r\n"
    (one,) = load(Folders({"/p/AGENTS.md": content, "/p/a.md": "A"}), ROOTS).instructions
    assert (one.sha256, one.text) == (hashlib.sha256(content).hexdigest(), "Use uv.\nA")
    assert one.includes == (("/p/a.md", hashlib.sha256(b"A").hexdigest()),)


def test_a_secret_in_a_file_does_not_reach_the_model():
    token = "ghp_" + "a8Zk3LmQ0pXr5TyUv2WsBn7CdEfGhIjK1o9Q"
    files = {"/p/AGENTS.md": "Deploy as said in\n@deploy.md\n", "/p/deploy.md": f"Use the token {token}."}
    text = text_of(files)
    assert token not in text
    assert text.startswith("Deploy as said in\nUse the token [secret:github-token:")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<!-- a\n b --> Never push.", "Never push."),
        ("<!-- a\n b -->\nNever push.", "Never push."),
        ("<!-- a --> Never push.", "Never push."),
    ],
)
def test_text_after_a_comment_is_kept(text, left):
    assert without_comments(text) == left


def test_folders_and_rules_beyond_the_limits_are_refused():
    files = {f"/p/d{n:03}/AGENTS.md": f"Rule {n}." for n in range(MOST_FOLDERS + 2)}
    loaded = load(Folders(files), ROOTS, [f"d{n:03}/a.py" for n in range(MOST_FOLDERS + 2)])
    assert len(loaded.instructions) == MOST_FOLDERS
    assert [(one.path, "1 more touched folders" in one.why) for one in loaded.refused] == [("/p/d200", True)]
    rules = {f"/p/.claude/rules/r{n:03}.md": f"Rule {n}." for n in range(MOST_RULES + 1)}
    loaded = load(Folders(rules), ROOTS)
    assert len(loaded.instructions) == MOST_RULES
    assert [one.path for one in loaded.refused] == ["/p/.claude/rules/r200.md"]


def test_rules_nested_too_deep_are_refused():
    loaded = load(Folders({"/p/.claude/rules/a/b/c/d/e/f/g.md": "Rule."}), ROOTS)
    assert [(one.path, one.why) for one in loaded.refused] == [
        ("/p/.claude/rules/a/b/c/d/e/f", "it is nested more than 5 folders deep")
    ]


@pytest.mark.parametrize(
    ("header", "line"),
    [
        ("name: -x\ndescription: |+\n  a\n  b", "- -x: a b"),
        ("name: x\ndescription: >-\n  a\n  b", "- x: a b"),
        ("name: x\ndescription: |2\n  a", "- x: a"),
        ("name: x\ndescription: a\n  b", "- x: a b"),
        ("name: x\ndescription: >5 files", "- x: >5 files"),
    ],
)
def test_a_skill_is_listed_with_its_name_and_description(tmp_path, header, line):
    path = tmp_path / "skills/one/SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"---\n{header}\n---\nThe steps.")
    assert f"\n{line} (skills/one/SKILL.md)" in skill_index(tmp_path).text
