"""How quick duckrow is, with rivals beside it in the same run. One question a file."""
