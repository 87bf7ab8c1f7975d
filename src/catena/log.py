"""Messages to the user: the logger "catena", on stderr unless the program has set up logging itself."""

from __future__ import annotations

import logging

from .text.controls import escape_controls

logger = logging.getLogger("catena")


def log_message(message: str) -> None:
    """Log one line. Silence it with `logging.getLogger("catena").setLevel("WARNING")`."""
    if not logger.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("catena: %(message)s"))
        logger.addHandler(handler)
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
    logger.info(escape_controls(message))
