"""From a choice to a verified release and its documents."""
