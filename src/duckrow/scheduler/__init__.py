"""The composition root: joins store, engines and devices into the loop that never loses a job."""
