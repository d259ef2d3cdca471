"""Cells of spreadsheets as text: plain numbers, ISO dates, nothing lost and nothing guessed."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import Any

_NOT_DATE_PARTS = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE)


def number_text(value: float) -> str:
    """A number in plain digits, without exponent, with the 15 digits that spreadsheets keep."""
    if value.is_integer():
        return str(int(value))
    text = f"{value:.15g}"
    if text in ("nan", "inf", "-inf"):
        return text
    return format(Decimal(text), "f") if "e" in text else text


def value_text(value: Any) -> str:
    """A cell's value as text: plain numbers, ISO dates, TRUE and FALSE, '' for an empty cell."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return number_text(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dt.datetime):
        return moment_text(value)
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, dt.time):
        return time_text(value)
    if isinstance(value, dt.timedelta):
        return duration_text(value)
    return str(value)


def moment_text(value: dt.datetime) -> str:
    """A point in time in ISO form, without the time when it is midnight; spreadsheets' fractions are rounded."""
    value = value + dt.timedelta(microseconds=500_000) if value.microsecond else value
    value = value.replace(microsecond=0)
    if value.hour == value.minute == value.second == 0:
        return value.date().isoformat()
    return value.isoformat(" ", "seconds")


def time_text(value: dt.time) -> str:
    """A time of day in ISO form, to the nearest second."""
    return moment_text(dt.datetime.combine(dt.date(2000, 1, 1), value)).partition(" ")[2] or "00:00:00"


def duration_text(value: dt.timedelta) -> str:
    """A duration as hours, minutes and seconds, hours beyond 24 included."""
    seconds = round(value.total_seconds())
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def date_form(form: str) -> str | None:
    """What a number format shows of a date or time, in small letters without its literals; None for plain numbers."""
    plain = _NOT_DATE_PARTS.sub("", form).split(";")[0].lower()
    return plain if "general" not in plain and re.search("[ymdhs]", plain) else None


def serial_text(value: float, form: str, is_1904: bool = False) -> str:
    """A date, time or duration that a spreadsheet keeps as a number of days, in ISO form.

    Args:
        value: Days since 1899-12-30, or since 1904-01-01.
        form: The cell's number format, which tells a time of day and a duration from a date.
        is_1904: The workbook counts from 1904.
    """
    if form.startswith("[") or "[h" in form or "[m" in form or "[s" in form:
        return duration_text(dt.timedelta(days=value))
    if 0 <= value < 1:  # a time of day, or day 0, which no calendar has
        # Added to a day in the middle of the calendar, so that rounding up cannot leave it.
        return (dt.datetime(2000, 1, 1) + dt.timedelta(days=value, microseconds=500_000)).time().isoformat("seconds")
    if not is_1904 and 0 < value < 60:
        value += 1  # 1900 is no leap year, but the format keeps that day
    epoch = dt.datetime(1904, 1, 1) if is_1904 else dt.datetime(1899, 12, 30)
    try:
        moment = epoch + dt.timedelta(days=value)
    except OverflowError:
        return number_text(value)
    return moment_text(moment)


def is_percent(form: str) -> bool:
    """True for a number format that shows percentages."""
    return "%" in _NOT_DATE_PARTS.sub("", form)


def percent_text(value: float) -> str:
    """A share as the percentage that the sheet shows, with all its digits: 0.256 is 25.6%."""
    return f"{number_text(float(f'{value * 100:.13g}'))}%"


def column_name(number: int) -> str:
    """Letters of a column: 0 is A, 26 is AA."""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
