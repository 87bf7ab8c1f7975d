"""Code that people find their way in: the words that they search for."""

import io
import re
import tokenize
from pathlib import Path

import catena

ROOT = Path(catena.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))
PRIVATE_WORDS = re.compile(r"(^|_)(cards?|says?|said|talks?)(_|$)|Card", re.ASCII)  # for GPU, log and message


def names_to_change(text: str) -> set[str]:
    """Names in a source that nobody would search for."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {token.string for token in tokens if token.type == tokenize.NAME and PRIVATE_WORDS.search(token.string)}


def test_names_are_words_that_engineers_search_for() -> None:
    found = {str(file.relative_to(ROOT)): names_to_change(file.read_text()) for file in SOURCES}
    assert not {file: names for file, names in found.items() if names}


def test_a_private_word_would_be_noticed() -> None:
    wrong = "def say(message): ...\non_card = OnCard\ndiscard = essays = wildcards = card_name\n"
    assert names_to_change(wrong) == {"say", "on_card", "OnCard", "card_name"}
