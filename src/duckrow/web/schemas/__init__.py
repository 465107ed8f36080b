"""What the answers look like, for the OpenAPI description alone: nothing is checked or copied when one is sent."""
