"""Reads and writes INI files.

    [section]
    key = value
    long = first line
        second line          ; lines that are indented belong to the value above
    # comments start with # or ;
"""


class IniError(ValueError):
    """A line that is neither a section, a key, a comment nor a continuation."""

    def __init__(self, number, line):
        super().__init__(f"line {number}: cannot read {line!r}")
        self.number = number


def loads(text):
    """Return {section: {key: value}} of an INI text. Keys before the first section are in "".

    Keys are lower-cased; a key given again in the same section wins over the earlier one.
    """
    sections = {"": {}}
    current = sections[""]
    last_key = None
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            continue
        if line[0].isspace() and last_key is not None:
            current[last_key] += "\n" + stripped
            continue
        if stripped.startswith("[") and stripped.endswith("]"):
            name = stripped[1:-1].strip()
            current = sections[name] = {}
            last_key = None
            continue
        key, found, value = stripped.partition("=")
        if not found:
            raise IniError(number, line)
        last_key = key.strip().lower()
        current[last_key] = unquote(value.strip())
    if not sections[""]:
        del sections[""]
    return sections


def unquote(value):
    """Take the quotes off "a value"."""
    if len(value) >= 2 and value[0] == value[-1] == '"':
        return value[1:-1]
    return value


def dumps(sections):
    """Return the INI text that loads() reads back."""
    out = []
    for name, values in sections.items():
        if name:
            out.append(f"[{name}]")
        for key, value in values.items():
            out.append(f"{key} = {value}".replace("\n", "\n    "))
        out.append("")
    return "\n".join(out)
