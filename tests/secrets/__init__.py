# ruff: noqa: A005  # tests mirror the rooms; nobody imports this as `secrets`
