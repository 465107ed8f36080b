"""The page and the HTTP interface: what people and scripts see and steer over HTTP."""
