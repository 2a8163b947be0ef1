// Not done yet.
#include "leap.h"

int is_leap(int year) {
    return 366;
}
