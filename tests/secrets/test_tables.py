"""Passwords in columns of tables, whose names stand lines above them."""

from __future__ import annotations

import time

import pytest

from clew.secrets import find, mask

SECRET = "Xk29#pLq7w"  # made up
MARKDOWN = "| user | password | role |\n|---|:---|---|\n| ada | b7Yq!x92 | admin |\n| bob | {} | user |\n"


@pytest.mark.parametrize(
    "table",
    [
        MARKDOWN,
        "Hosts:\n\nhost | Admin Password\n--- | ---\ndb-1 | `{}`\n",
        "username,password\nadmin,{}\nguest,none\n",
        '"user";"Kennwort"\n"ada";"{}"\n',
        "host\tcontraseña\ndb-1\t{}\n",
        "用户,密码\nadmin,{}\n",
    ],
)
def test_a_password_in_a_column_is_found_and_nothing_else(table: str) -> None:
    text = table.format(SECRET)
    found = [text[start:end] for _, start, end in find(text)]
    assert SECRET in found
    assert len(found) == (2 if table is MARKDOWN else 1)
    assert SECRET not in mask(text, b"k").text


@pytest.mark.parametrize(
    "text",
    [
        "| setting | password |\n|---|---|\n| min length | 8 |\n| algorithm | required |\n",
        "user, password = read_login()\nhost, port1a = read_host()\n",
        "def login(user, password):\n    return user, a1b2c3d4\n",
        "| test | password |\n|---|---|\n| reset | passwordReset2 |\n| since | 2024-01-01 |\n",
        "names = [\n    'password',\n    'db2_fetch',\n    'sha256x',\n]\n",
        "The user, the password\nand b12c34, then\n",
    ],
)
def test_a_table_without_passwords_stays(text: str) -> None:
    assert find(text) == []


def test_reading_a_hostile_table_takes_linear_time() -> None:
    begun = time.process_time()
    find("| a | password |\n" * 20_000 + "|" * 100_000 + "\npassword," * 20_000)
    assert time.process_time() - begun < 5
