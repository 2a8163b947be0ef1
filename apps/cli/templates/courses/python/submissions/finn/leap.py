# Not done yet.
def is_leap(year=None):
    pass
