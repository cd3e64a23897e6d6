// A string is copied into a zeroed buffer without its terminator and printed: one of the kept zeros ends it.
// site: zeroed mostly calls=1 zeroed=256 overwritten=11 kept=245

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static char *zeroed(size_t n)
{
    char *p = calloc(n, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

int main(void)
{
    char *p = zeroed(256);
    memcpy(p, "hello world", 11);
    __asm__ volatile("" : : "r"(p) : "memory");
    printf("%zu %s\n", strlen(p), p);
    free(p);
    return 0;
}
