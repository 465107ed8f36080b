"""Jobs as processes of this machine, each a child of a keeper that outlives the scheduler."""
