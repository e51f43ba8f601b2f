"""What tests share: slow twins of kernels, strategies for tables, servers, pages and releases."""
