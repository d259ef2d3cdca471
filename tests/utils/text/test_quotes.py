from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.utils.text.quotes import find_quote

TEXT = "x " * 50 + "The motor is guaran-\nteed for  27\nmonths from the date of purchase. " + "y " * 50


def found(quote, text=TEXT):
    match = find_quote(quote, text)
    return text[match.start : match.end] if match else None


def test_spaces_line_breaks_and_hyphens_do_not_matter():
    assert found("guaranteed for 27 months") == "guaran-\nteed for  27\nmonths"


def test_a_typing_error_does_not_matter_but_a_number_does():
    assert found("The motr is guaranteed for 27 months from the date").startswith("The motor is")
    assert found("The motor is guaranteed for 37 months from the date") is None


def test_parts_with_dots_between_are_found_in_order():
    assert found("The motor ... date of purchase.").startswith("The motor")
    assert found("date of purchase ... the motor") is None


def test_a_short_quote_is_no_piece_of_a_word_or_number():
    assert found("7", "27 and 7.") == "7"
    assert found("art", "a smart part") is None


def test_full_width_and_traditional_spellings_are_found():
    assert found("电动机保修２７个月", "電動機\n保修 27 個月。") == "電動機\n保修 27 個月"


def test_what_is_not_there_is_not_found():
    assert found("The battery lasts five years without charging") is None
    assert find_quote("", TEXT) is None and find_quote("motor", "") is None


@given(st.text(min_size=1, max_size=80), st.integers(0, 79), st.integers(1, 40))
def test_any_piece_of_a_text_is_found_in_it(text, start, length):
    start %= len(text)
    quote = text[start : start + length]
    match = find_quote(f" {quote} ", f"{text}")
    if match is not None:
        assert 0 <= match.start < match.end <= len(text)
    elif len(quote) > 12 and quote.isalnum() and quote.isascii():
        raise AssertionError(quote)
