"""Where results are kept: `result_file`, one SQLite database a host; `claims`, so that one process at a time writes."""
