"""Claude Code: ``~/.claude/projects/<project>/<session>.jsonl`` and the folder of the same name."""
