"""The command line: one file a verb in `commands/`, loaded only when that verb is called."""
