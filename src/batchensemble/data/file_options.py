"""How a file is to be read, where the user knows better than the file tells."""

from dataclasses import dataclass

from batchensemble.data.notation import DECIMALS, THOUSANDS
from batchensemble.words import one_of


@dataclass(frozen=True)
class FileOptions:
    """None where it is to be recognised.

    decimal, thousands  the marks of numbers in texts
    dayfirst            whether 01/02/2026 is the first of February
    encoding            of a text file
    skip_lines          lines, or rows of a sheet, above the column names
    sheet               of a spreadsheet: its name, or its number from 1
    """

    decimal: str | None = None
    thousands: str | None = None
    dayfirst: bool | None = None
    encoding: str | None = None
    skip_lines: int = 0
    sheet: str | None = None

    def __post_init__(self) -> None:
        if self.decimal is not None:
            one_of(self.decimal, DECIMALS, "--decimal")
        if self.thousands is not None:
            one_of(self.thousands, THOUSANDS, "--thousands")
        if self.decimal is not None and self.decimal == self.thousands:
            raise ValueError(
                "expected different marks for --decimal and --thousands, got "
                f"{self.decimal!r} for both; omit one of the two"
            )
        if self.encoding is not None:
            try:
                "".encode(self.encoding)  # also refuses codecs of bytes, such as base64
            except (LookupError, ValueError):
                raise ValueError(
                    f"expected the name of an encoding such as utf-8, cp1252 or mac_roman, got "
                    f"{self.encoding!r}"
                ) from None

    @property
    def decimal_mark(self) -> str | None:
        """The decimal mark, if it is known."""
        other = {",": ".", ".": ","}
        return self.decimal or other.get(self.thousands or "")

    def check(self, name: str, *, is_text: bool, is_excel: bool) -> None:
        """Raise if an option does not apply to the kind of file."""
        for option, value, applies in (
            ("--encoding", self.encoding, is_text),
            ("--skip-lines", self.skip_lines, is_text or is_excel),
            ("--sheet", self.sheet, is_excel),
        ):
            if value and not applies:
                raise ValueError(f"{option} does not apply to {name}; omit it")


AS_FOUND = FileOptions()
