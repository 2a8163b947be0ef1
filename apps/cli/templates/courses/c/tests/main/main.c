// The teacher's main program: reads a year, prints what the student's function says of it.
#include <stdio.h>
#include "leap.h"

int main(void) {
    int year;
    if (scanf("%d", &year) != 1) return 1;
    printf("%d\n", is_leap(year));
    return 0;
}
