"""What can be done to jobs, one file per verb. The command line, the page, Hydra and drop-ins call the same functions,
and word the answer each in their way."""
