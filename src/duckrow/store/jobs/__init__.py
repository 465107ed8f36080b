"""Jobs in the database: adding, listing, moving, changing and forgetting them."""
