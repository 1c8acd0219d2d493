"""``python -m clew``."""

from clew.cli import main

raise SystemExit(main())
