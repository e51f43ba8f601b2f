"""What a job file says and does; shared by the command line, the page and the report."""
