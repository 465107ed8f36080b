"""The database itself: opening it, transactions, its files and its size."""
