"""clew inside other agents: hooks, an MCP server, and the installer. See README.md."""
