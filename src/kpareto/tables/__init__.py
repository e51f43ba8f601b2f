"""The nouns about data: schema, hierarchies, tables, recodings and partitions."""
