"""Cardinal numbers from 0 to 999,999,999,999 in English, French and German words.

The spelling is that of the package `num2words`: the British "and", French hyphens as before 1990.
"""

ENGLISH = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
ENGLISH_TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
FRENCH = (
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize "
    "dix-sept dix-huit dix-neuf"
).split()
FRENCH_TENS = (
    "_ _ vingt trente quarante cinquante soixante soixante quatre-vingt quatre-vingt"
).split()
GERMAN = (
    "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn "
    "fünfzehn sechzehn siebzehn achtzehn neunzehn"
).split()
GERMAN_TENS = "_ _ zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split()


def english(number: int) -> str:
    """A number in English.

    Example:
        >>> english(1_000_294), english(2_001)
        ('one million, two hundred and ninety-four', 'two thousand and one')
    """
    for size, name in (10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred"):
        if number >= size:
            count, rest = divmod(number, size)
            words = f"{english(count)} {name}"
            return f"{words}{' and' if rest < 100 else ','} {english(rest)}" if rest else words
    if number < 20:
        return ENGLISH[number]
    tens, ones = divmod(number, 10)
    return f"{ENGLISH_TENS[tens]}-{ENGLISH[ones]}" if ones else ENGLISH_TENS[tens]


def french(number: int) -> str:
    """A number in French.

    Example:
        >>> french(1_294), french(80), french(271)
        ('mille deux cent quatre-vingt-quatorze', 'quatre-vingts', 'deux cent soixante et onze')
    """
    for size, name in (10**9, "milliard"), (10**6, "million"):
        if number >= size:
            count, rest = divmod(number, size)
            words = f"{french(count)} {name}{'s' if count > 1 else ''}"
            return f"{words} {french(rest)}" if rest else words
    # A multiplied vingt or cent has an s at the end of the number and before million or milliard.
    hundreds, rest = divmod(number % 1000, 100)
    plural = rest == 80 or (rest == 0 and hundreds > 1)
    return f"{_french(number)}{'s' if plural else ''}"


def _french(number: int) -> str:
    """A number below a million, without the s of vingts and cents."""
    for size, name in (1000, "mille"), (100, "cent"):
        if number >= size:
            count, rest = divmod(number, size)
            words = f"{_french(count)} {name}" if count > 1 else name
            return f"{words} {_french(rest)}" if rest else words
    if number < 20:
        return FRENCH[number]
    tens, ones = divmod(number, 10)
    if tens in (7, 9):
        ones += 10
    if not ones:
        return FRENCH_TENS[tens]
    joint = " et " if ones in (1, 11) and tens < 8 else "-"
    return f"{FRENCH_TENS[tens]}{joint}{FRENCH[ones]}"


def german(number: int) -> str:
    """A number in German.

    Example:
        >>> german(21), german(1_100), german(2_000_001)
        ('einundzwanzig', 'eintausendeinhundert', 'zwei Millionen eins')
    """
    for size, one, name in (10**9, "Milliarde", "Milliarden"), (10**6, "Million", "Millionen"):
        if number >= size:
            count, rest = divmod(number, size)
            words = f"eine {one}" if count == 1 else f"{german(count)} {name}"
            return f"{words} {german(rest)}" if rest else words
    for size, name in (1000, "tausend"), (100, "hundert"):
        if number >= size:
            count, rest = divmod(number, size)
            words = f"{'ein' if count == 1 else german(count)}{name}"
            return f"{words}{german(rest)}" if rest else words
    if number < 20:
        return GERMAN[number]
    tens, ones = divmod(number, 10)
    before = f"{'ein' if ones == 1 else GERMAN[ones]}und" if ones else ""
    return f"{before}{GERMAN_TENS[tens]}"
