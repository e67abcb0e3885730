"""Unique slugs: the second "news" becomes "news-2"."""

from .text import slugify


class SlugRegistry:
    """Hands out slugs and remembers which are taken."""

    def __init__(self, taken=(), max_length=None):
        self._taken = set(taken)
        self._max_length = max_length

    def __contains__(self, slug):
        return slug in self._taken

    def claim(self, title):
        """Return a slug for title that nobody has, and take it."""
        base = slugify(title, max_length=self._max_length) or "untitled"
        slug = base
        n = 2
        while slug in self._taken:
            slug = f"{base}-{n}"
            n += 1
        self._taken.add(slug)
        return slug

    def release(self, slug):
        """Give a slug back. Unknown slugs are ignored."""
        self._taken.discard(slug)
