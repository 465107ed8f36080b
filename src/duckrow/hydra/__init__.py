"""Hydra's multiruns as jobs. Hydra itself finds them by the thin module in `hydra_plugins`."""
