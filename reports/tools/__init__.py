"""What pinsweep knows of one tool, a module each, found by the name of the tool: derived numbers, charts, checks, the first line in a terminal."""
