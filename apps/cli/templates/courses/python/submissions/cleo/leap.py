# Every fourth year has a day more.
def is_leap(year):
    if not isinstance(year, int) or year < 1:
        raise ValueError("a whole number, please")
    return year % 4 == 0
