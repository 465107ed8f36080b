"""Lists and sweeps that are run and watched until all is done: on this machine, or on a cluster."""
