"""From a table and objectives to every trade-off: counting, dominance, the front and the choice."""
