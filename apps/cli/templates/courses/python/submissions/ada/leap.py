# A year is 365.2425 days long: a day more every 4 years is a little too much, so three days in 400 years are left out again.
def is_leap(year):
    if type(year) is not int or year < 1:
        raise ValueError(f"no year: {year}")
    if year % 400 == 0:
        return True
    if year % 100 == 0:
        return False
    return year % 4 == 0
