"""Files, folders and frames through DuckDB."""
