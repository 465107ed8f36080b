"""The state of a host, in parts: the only things that change while it runs. They use no files, clocks or processes."""
