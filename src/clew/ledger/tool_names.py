"""The tools that clew knows by name, and the argument names that tools use.

To add a tool, add its name in lower case; a prefix ending in ``__``, ``.`` or ``/`` is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType


class Does(Enum):
    """What a tool does."""

    READ = "read"
    WRITE = "write"
    EDIT = "edit"
    DELETE = "delete"
    MOVE = "move"
    PATCH = "patch"
    SHELL = "shell"
    FETCH = "fetch"
    SEARCH = "search"
    TODO = "todo"
    """Replaces a whole task list."""
    NEW_TASK = "new task"
    TASK_CHANGE = "task change"
    ASK = "ask"
    """Asks the person a question."""
    PROPOSE = "propose"
    """Presents a plan to the person."""
    OTHER = "other"


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_NAMES: Mapping[Does, tuple[str, ...]] = MappingProxyType(
    {
        Does.READ: _words("""
            read read_file readfile view view_file open open_file cat notebookread read_many_files
            file_read fs_read inspect_file_as_text get_file_contents
        """),
        Does.WRITE: _words("""
            write write_file writefile create create_file write_to_file file_write fs_write save_file
        """),
        Does.EDIT: _words("""
            edit multiedit multi_edit edit_file replace replace_in_file str_replace insert search_replace
            notebookedit notebook_edit edit_notebook apply_diff insert_content file_edit insert_edit_into_file
            replace_string_in_file search_and_replace
        """),
        Does.DELETE: _words("delete_file remove_file file_delete"),
        Does.MOVE: _words("move_file rename_file file_move"),
        Does.PATCH: _words("apply_patch applypatch patch"),
        Does.SHELL: _words("""
            bash shell sh shell_command exec exec_command local_shell local_shell_call run run_command
            run_shell_command execute_command execute_bash terminal run_terminal_cmd run_in_terminal
            powershell command
        """),
        Does.FETCH: _words("""
            webfetch web_fetch fetch fetch_url fetch_webpage url_fetch open_url read_url visit_page
            web_browser_go browser_navigate
        """),
        Does.SEARCH: _words("""
            grep glob ls list rg search find_file search_dir search_file search_files list_dir list_files
            list_directory grep_search file_search websearch web_search google_web_search codesearch
            toolsearch
        """),
        Does.TODO: _words("""
            todowrite todo_write todo update_plan write_todos update_todo_list manage_todo_list task_tracker
        """),
        Does.NEW_TASK: _words("taskcreate"),
        Does.TASK_CHANGE: _words("taskupdate"),
        Does.ASK: _words("""
            askuserquestion request_user_input ask_user ask_followup_question ask_question question
            askquestions
        """),
        Does.PROPOSE: _words("exitplanmode exit_plan_mode plan_exit plan_mode_respond"),
    }
)
BY_NAME: Mapping[str, Does] = MappingProxyType(
    {name: does for does, names in _NAMES.items() for name in names}
)

PATH_KEYS = _words("""
    file_path filePath path file filename notebook_path target_file absolute_path relative_path abs_path
    filepath file_name uri old_path source
""")
TARGET_KEYS = _words("new_path destination target new_name to")
"""Arguments with the new path of a moved file."""
BODY_KEYS = frozenset(_words("content contents file_text fileText text body"))
"""Arguments with the content of a file."""
CHANGE_KEYS = frozenset(
    _words(
        "old_string oldString old_str new_string newString new_str edits diff search insert_line new_source"
    )
)
"""Arguments that describe a change of a file."""
