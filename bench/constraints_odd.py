"""Count how many of 60 odd ways to say one rule are still in view after chains of compactions.

    uv run python bench/constraints_odd.py [--compactions 12] [--misses]

The rule is always "never modify legacy/": in languages with and without a table of phrases, in fences, JSON,
tables, behind logs, as an answer to a question of the agent, as the reason of a refused call. A way counts if
its words, or those that carry the prohibition, are in the messages that the model would see.
"""

from __future__ import annotations

import argparse
import json

import clew

LANGUAGES = {
    "Turkish": "legacy/ altındaki dosyaları asla değiştirme.",
    "Swedish": "Ändra aldrig filer under legacy/.",
    "Vietnamese": "Đừng bao giờ sửa các tệp trong legacy/.",
    "Hindi": "legacy/ की फ़ाइलों को कभी मत बदलना।",
    "Arabic": "لا تعدّل الملفات في legacy/ أبدا.",
    "Indonesian": "Jangan pernah mengubah file di legacy/.",
    "Ukrainian": "Ніколи не змінюй файли в legacy/.",
    "Czech": "Nikdy neměň soubory v legacy/.",
    "Persian": "هرگز فایل‌های legacy/ را تغییر نده.",
    "Hebrew": "לעולם אל תשנה קבצים תחת legacy/.",
    "Greek": "Μην αλλάξεις ποτέ αρχεία στο legacy/.",
    "Thai": "ห้ามแก้ไขไฟล์ใน legacy/ เด็ดขาด",
    "German": "Ändere niemals Dateien unter legacy/.",
    "French": "Ne modifie jamais les fichiers sous legacy/.",
    "Spanish": "Nunca modifiques los archivos de legacy/.",
    "Polish": "Nigdy nie zmieniaj plików w legacy/.",
    "Dutch": "Wijzig nooit bestanden onder legacy/.",
    "Chinese": "永远不要修改 legacy/ 下的文件。",
    "Japanese": "legacy/ のファイルは絶対に変更しないでください。",
    "Korean": "legacy/ 아래 파일은 절대 수정하지 마세요.",
    "Russian": "Никогда не меняй файлы в legacy/.",
}
WAYS = (
    "Never modify files under legacy/.",
    "legacy/ is off limits.",
    "legacy/ = read only",
    "hands off legacy/, pls",
    "legacy/ belongs to another team, so it stays as it is",
    "whatever you do, legacy/ stays untouched",
    "I get fired if anything in legacy/ changes",
    "think of legacy/ as carved in stone",
    "legacy/: look, don't touch",
    "NO EDITS IN legacy/",
    "no edits in legacy/ thx",
    "u must not chnage legacy/",
    "pls dont tuoch legacy/",
    "the last intern who edited legacy/ broke production",
    "legacy/ 🚫",
    "legacy/ → do not modify",
    "if you ever feel like editing legacy/, don't",
    "edit anything you like except legacy/",
    "everything is fair game but legacy/",
    "treat legacy/ as a museum",
    "you can edit src/, not legacy/",
    "we never, ever change legacy/",
    "Reminder: legacy/ is frozen until the audit.",
    "my rule for legacy/ is simple: nobody writes there",
    "by the way, legacy/ must not change",
    "# Rules\n- never modify legacy/",
    "Rules:\n1. never modify legacy/\n2. tests first",
    "here are my rules:\n```\nnever modify legacy/\n```",
    '{"rules": ["never modify legacy/"]}',
    '```json\n{"forbidden": ["legacy/"], "note": "never modify legacy/"}\n```',
    "| rule | value |\n|---|---|\n| legacy/ | never modify |",
    "<log>\nbuild ok\nnever modify legacy/",
    "<rules>never modify legacy/</rules>",
    "> never modify legacy/\n\nthat is from our handbook, follow it",
    "Look:\n```\n" + "12:00:01 INFO ok\n" * 300 + "```\nnever modify legacy/.",
    "12:00:01 INFO ok\n" * 3_000 + "\nIMPORTANT: never modify legacy/\n\n" + "12:00:01 INFO ok\n" * 3_000,
    "12:00:01 INFO ok\n" * 6_000 + "\nNever modify files under legacy/.\n\n" + "12:00:01 INFO ok\n" * 6_000,
    "Some words of a story. " * 6_000 + "\n\nIMPORTANT: never modify legacy/\n\n" + "More of it. " * 6_000,
    "Here is the log, fix it:\n```\nerror: x\n```\nnever modify legacy/.",
)
ASKED, REFUSED = "asked", "refused"


def messages_of(way: str) -> list[dict[str, object]]:
    """Return the first messages of a session in which the rule is said in some way."""
    if way == ASKED:
        call = {"type": "tool_use", "id": "q1", "name": "AskUserQuestion", "input": {"questions": []}}
        text = 'User has answered your questions: "May I edit legacy/?"="No, never modify legacy/". Continue.'
        result = {"type": "tool_result", "tool_use_id": "q1", "content": text}
    elif way == REFUSED:
        call = {"type": "tool_use", "id": "q1", "name": "Edit", "input": {"file_path": "legacy/a.py"}}
        text = (
            "The user doesn't want to proceed with this tool use. The tool use was rejected. "
            "To tell you how to proceed, the user said:\nnever modify legacy/"
        )
        result = {"type": "tool_result", "tool_use_id": "q1", "content": text, "is_error": True}
    else:
        return [
            {"role": "user", "content": "Please fix the failing parser tests, step by step."},
            {"role": "assistant", "content": "I will look at the parser first."},
            {"role": "user", "content": way},
            {"role": "assistant", "content": "Understood."},
        ]
    return [
        {"role": "user", "content": "Please fix the failing parser tests, step by step."},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": "Understood."},
    ]


def work(round_: int, number: int) -> list[dict[str, object]]:
    """Return a turn of tool work."""
    name = f"t{round_}_{number}"
    lines = "\n".join(f"src/mod{round_}/file{number}.py:{line}: value {line * 7}" for line in range(60))
    return [
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": f"cat {name}"}}
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": lines}]},
        {"role": "assistant", "content": f"File {number} of part {round_} reads as expected."},
        {
            "role": "user",
            "content": f"Go on with part {round_}, file {number + 1} and fix what you find there.",
        },
    ]


def is_in_view(way: str, view: object) -> bool:
    """Return True if the words that carry the rule are in the view."""
    text = json.dumps(view, ensure_ascii=False).replace('\\\\"', '"').replace('\\"', '"')
    shown = " ".join(text.replace("\\n", " ").split()).lower()
    if way in (ASKED, REFUSED) or "\n" in way or way.startswith("{"):
        return (
            "never modify legacy/" in shown
            or "legacy/ | never modify" in shown
            or "never modify files under legacy/" in shown
        )
    return " ".join(way.split()).lower() in shown


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--compactions", type=int, default=12)
    arguments.add_argument("--misses", action="store_true")
    given = arguments.parse_args()
    ways = [*WAYS, ASKED, REFUSED, *LANGUAGES.values()]
    seen, missed = 0, []
    for way in ways:
        messages = messages_of(way)
        for round_ in range(given.compactions):
            messages += [message for number in range(14) for message in work(round_, number)]
            messages = list(clew.compact(messages, window=12_000).messages)
        if is_in_view(way, messages):
            seen += 1
        else:
            missed.append(way)
    print(f"{seen} of {len(ways)} in view after {given.compactions} compactions")
    for way in missed if given.misses else ():
        print("  -", way[:80].replace("\n", "⏎"), "…" if len(way) > 80 else "")


if __name__ == "__main__":
    main()
