/* What the programs of these tests check with. CHECK_ERROR() tells more of what went wrong. */
#include <stdio.h>

#ifndef CHECK_ERROR
#define CHECK_ERROR() ""
#endif

#define CHECK(c)                                                                                                       \
    do {                                                                                                               \
        if (!(c)) {                                                                                                    \
            printf("line %d: %s: %s\n", __LINE__, #c, CHECK_ERROR());                                                  \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)
