# Divides by 4, 100 and 400.
def is_leap(year):
    if year % 400 == 0
        return True
    return year % 4 == 0 and year % 100 != 0
