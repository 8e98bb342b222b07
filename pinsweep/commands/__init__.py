"""One module per command, each with its `command`; found by name."""
