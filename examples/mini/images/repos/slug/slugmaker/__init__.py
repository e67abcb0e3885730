"""Slugs for URLs."""

from .registry import SlugRegistry
from .text import slugify

__all__ = ["SlugRegistry", "slugify"]
