// Zeroed counters are added to and printed: the zeros are read by the addition before each is overwritten.
// site: counters needed calls=1 zeroed=2000 overwritten=0 kept=2000

#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static unsigned *counters(size_t n)
{
    unsigned *p = calloc(n, sizeof *p);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

__attribute__((noinline)) static void add(unsigned *p, unsigned n, unsigned x)
{
    for (unsigned i = 0; i < n; i++)
        p[i] += 0x01010101u * (i % 20 + 1) + x;
}

int main(void)
{
    unsigned *p = counters(500);
    for (unsigned k = 0; k < 5; k++)
        add(p, 500, k * 3);
    unsigned sum = 0;
    for (unsigned i = 0; i < 500; i++)
        sum = sum * 31 + p[i];
    printf("%u\n", sum);
    free(p);
    return 0;
}
