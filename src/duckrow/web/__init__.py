"""The page and the HTTP interface: what people and scripts see and control over HTTP."""
