"""Results as files for other programs: `tables` (CSV, Parquet, JSON), `openmetrics`; `parsed` prints what a parser read of one text."""
