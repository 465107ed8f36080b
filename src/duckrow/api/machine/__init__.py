"""This machine: the daemon, the page's server, settings, and whether all is well."""
