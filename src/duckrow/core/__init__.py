"""The rules, and nothing but the rules: no files, no clock, no processes. The same input gives the same answer."""
