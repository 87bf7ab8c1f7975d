"""Steps on a GPU: a thread for each member, for each body of many chains, or for each body of a long one."""
