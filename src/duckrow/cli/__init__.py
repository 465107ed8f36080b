"""The command line: one file per verb in `commands/`, loaded only when that verb is called."""
