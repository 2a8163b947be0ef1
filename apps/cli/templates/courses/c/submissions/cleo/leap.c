// Every fourth year has a day more.
#include "leap.h"

int is_leap(int year) {
    int is_year = year >= 1;
    if (!is_year) return -1;
    return year % 4 == 0;
}
