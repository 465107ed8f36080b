"""The composition root: joins store, engines and devices into the scheduler loop."""
