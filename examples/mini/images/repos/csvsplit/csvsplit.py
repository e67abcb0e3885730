"""Splits lines of comma-separated values, and joins them again (RFC 4180)."""

QUOTE = '"'


class CsvError(ValueError):
    """A quoted field that does not end."""


def split_line(line, delimiter=","):
    """Return the fields of one line.

    A field may stand in quotes; it may then contain delimiters, and a quote
    that is written twice.
    """
    fields = []
    field = []
    in_quotes = False
    for char in line.rstrip("\r\n"):
        if char == QUOTE:
            in_quotes = not in_quotes
        elif char == delimiter and not in_quotes:
            fields.append("".join(field))
            field = []
        else:
            field.append(char)
    if in_quotes:
        raise CsvError(f"quoted field does not end: {line!r}")
    fields.append("".join(field))
    return fields


def join_line(fields, delimiter=","):
    """Return the line that split_line() reads back as fields."""
    return delimiter.join(_quoted(f, delimiter) for f in fields)


def _quoted(field, delimiter):
    if any(c in field for c in (delimiter, QUOTE, "\r", "\n")):
        return QUOTE + field.replace(QUOTE, QUOTE * 2) + QUOTE
    return field


def read(text, delimiter=","):
    """Yield the records of a text, each a list of fields. Empty lines are skipped."""
    for line in text.splitlines():
        if line:
            yield split_line(line, delimiter)
