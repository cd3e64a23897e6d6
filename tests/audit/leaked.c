// Blocks are never freed and the program ends by returning from main: they are counted at the end.
// site: zeroed mostly calls=6 zeroed=7200 overwritten=5400 kept=1800

#include <stdio.h>
#include <stdlib.h>

static unsigned char *volatile last;

__attribute__((noinline)) static unsigned char *zeroed(size_t n)
{
    unsigned char *p = calloc(n, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

int main(void)
{
    volatile int rounds = 6;
    unsigned sum = 0;
    for (int k = 0; k < rounds; k++) {
        unsigned char *p = zeroed(1200);
        for (int i = 0; i < 900; i++)
            p[i] = (unsigned char)(i * (2 * k + 1) + 1);
        last = p;
        for (int i = 0; i < 900; i++)
            sum = sum * 31 + p[i];
    }
    printf("%u\n", sum);
    return 0;
}
