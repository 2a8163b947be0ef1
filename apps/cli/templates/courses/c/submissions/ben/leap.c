#include "leap.h"

int is_leap(int y) {
    if (y < 1) return -1;
    return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
}
