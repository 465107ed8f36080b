"""Hydra launchers: the runs of a multirun as jobs of duckrow, on this machine or through SLURM.

Hydra executes every module in here again whenever it looks for plugins, but for those whose names begin with an
underscore. So only what Hydra has to find is without one.
"""
