"""One tick: observe, decide, record, act. Each phase gets the state and the ports that it needs, never the loop."""
