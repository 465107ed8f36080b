"""How well are runs packed onto one GPU? Workloads whose shapes are drawn from a seed, simulated and on a real GPU."""
