// Zeroings of 63 bytes are not tracked by default, one of 64 bytes is.
// site: just_enough superfluous calls=1 zeroed=64 overwritten=64 kept=0

#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static unsigned char *too_small(void)
{
    unsigned char *p = calloc(63, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

__attribute__((noinline)) static unsigned char *just_enough(void)
{
    unsigned char *p = calloc(64, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

__attribute__((noinline)) static unsigned fill(unsigned char *p, int n, int factor)
{
    unsigned sum = 0;
    for (int i = 0; i < n; i++)
        p[i] = (unsigned char)(i * factor + 1);
    for (int i = 0; i < n; i++)
        sum = sum * 31 + p[i];
    return sum;
}

int main(void)
{
    volatile int rounds = 10;
    unsigned sum = 0;
    for (int k = 0; k < rounds; k++) {
        unsigned char *p = too_small();
        sum += fill(p, 63, 2 * k + 1);
        free(p);
    }
    unsigned char *p = just_enough();
    printf("%u\n", sum + fill(p, 64, 3));
    free(p);
    return 0;
}
