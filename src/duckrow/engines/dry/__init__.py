"""An engine without processes, and a clock turned by hand: for tests, the simulator, and whoever writes an engine."""
