"""What people see in a terminal: tables, the view of a run, reports."""
