"""What is true of every cluster: a batch's folder, claims, leases, pilots, and tending them."""
