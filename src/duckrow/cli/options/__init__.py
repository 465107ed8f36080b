"""What people type: options that verbs share, and the words of other tools."""
