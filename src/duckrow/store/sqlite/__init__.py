"""The database itself: opening it, transactions, its files, and the room that it takes."""
