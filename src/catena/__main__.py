"""`python -m catena` is `catena`."""

from .cli import main

if __name__ == "__main__":
    main()
