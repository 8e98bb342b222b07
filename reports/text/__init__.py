"""Format plain text for people: numbers with units (`format`), terminal columns (`columns`), host sets (`hostlist`)."""
