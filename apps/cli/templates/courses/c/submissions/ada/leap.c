// A year is 365.2425 days long: a day more every 4 years is a little too much, so three days in 400 years are left out again.
#include "leap.h"

int is_leap(int year) {
    if (year < 1) return -1;
    if (year % 400 == 0) return 1;
    if (year % 100 == 0) return 0;
    return year % 4 == 0;
}
