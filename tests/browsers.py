"""Where the browser is that the page is tested in."""

from __future__ import annotations

import shutil


def chromium() -> str | None:
    """The command of a Chromium, None if there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
