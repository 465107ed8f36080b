"""How much memory jobs take: what is observed, whose it is, what a job will take, and what follows when it runs out."""
