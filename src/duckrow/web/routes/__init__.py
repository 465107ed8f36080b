"""The routes of the HTTP interface, a module for each noun."""
