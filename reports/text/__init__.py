"""Plain text for people: numbers with their units (`format`), columns of a terminal (`columns`), sets of hosts (`hostlist`)."""
