"""From a title to the words of a slug."""

import re
import unicodedata

_NOT_WORD = re.compile(r"[^a-z0-9]+")

# Letters that have no decomposition into a base letter and a mark.
_SPECIAL = {"ß": "ss", "æ": "ae", "ø": "o", "đ": "d", "ł": "l"}


def to_ascii(text):
    """Replace letters with marks by their base letter; drop what has none."""
    text = "".join(_SPECIAL.get(c, c) for c in text.lower())
    decomposed = unicodedata.normalize("NFKD", text)
    return decomposed.encode("ascii", "ignore").decode("ascii")


def slugify(text, max_length=None, separator="-"):
    """Return the slug of a title.

    A slug longer than max_length is cut, at a word boundary where there is
    one, so that it never ends in half a word or in a separator.
    """
    slug = _NOT_WORD.sub(separator, to_ascii(text)).strip(separator)
    if max_length is not None:
        slug = slug[:max_length]
    return slug
