"""Projects of ARX (``.deid``) become jobs, and jobs become hierarchies and a script for ARX's library."""
