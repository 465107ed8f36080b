"""The pages of the documentation: every command on them is typed, and what they show is compared with what happens.

`python -m tests.pages --write` writes today's output into the pages.
"""
