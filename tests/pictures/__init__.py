"""The pictures of the page in docs, made by one command: ``make pictures``."""
