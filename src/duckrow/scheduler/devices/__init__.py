"""The devices while jobs run: read, shown, shared, drained, and set aside when they are broken."""
