"""Hydra launchers: the runs of a multirun as jobs of duckrow, on this machine or through SLURM.

Hydra executes every module in here again whenever it looks for plugins, except those whose names begin with an
underscore. So every module has an underscore, except those that Hydra must find.
"""
