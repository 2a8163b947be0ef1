def is_leap(y):
    if not isinstance(y, int) or y < 1:
        raise ValueError("y")
    return (y % 4 == 0 and y % 100 != 0) or y % 400 == 0
