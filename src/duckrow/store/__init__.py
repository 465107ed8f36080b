"""What must not be forgotten, in SQLite: jobs, attempts, hosts, wishes. The only package that speaks SQL."""
