"""Tables of a PostgreSQL database."""
