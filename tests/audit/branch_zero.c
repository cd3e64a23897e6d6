// One byte of a calloc'd block is tested by a branch, and nothing is overwritten.
// site: zeroed needed calls=1 zeroed=1111 overwritten=0 kept=1111

#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static unsigned char *zeroed(size_t n)
{
    unsigned char *p = calloc(n, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

int main(void)
{
    unsigned char *p = zeroed(1111);
    if (p[555])
        puts("set");
    else
        puts("clear");
    free(p);
    return 0;
}
