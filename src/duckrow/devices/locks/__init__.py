"""Locks between the users of a machine: nobody counts on memory of a GPU that another duckrow is about to take."""
