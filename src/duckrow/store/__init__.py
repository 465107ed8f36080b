"""Durable state in SQLite: jobs, attempts, hosts, wishes. The only package with SQL."""
