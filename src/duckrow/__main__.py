"""Makes `python -m duckrow` the same as `duckrow`."""

from duckrow.cli.main import main

if __name__ == "__main__":
    main()
