// Divides by 4, 100 and 400.
#include "leap.h"

int is_leap(int year) {
    if (year % 400 == 0 return 1;
    return year % 4 == 0 && year % 100 != 0;
}
