"""Export results for other programs: `tables` (CSV, Parquet, JSON), `openmetrics`, and `parsed` texts."""
