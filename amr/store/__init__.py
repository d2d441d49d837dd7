"""The DuckDB truth, its gate and the indexes beside it; all SQL lives here."""
