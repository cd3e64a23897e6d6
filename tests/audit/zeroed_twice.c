// A calloc'd block is cleared once more by memset before it is overwritten: both zeroings are superfluous.
// site: zeroed superfluous calls=1 zeroed=6000 overwritten=6000 kept=0
// site: clear superfluous calls=1 zeroed=6000 overwritten=6000 kept=0

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static unsigned char *zeroed(size_t n)
{
    unsigned char *p = calloc(n, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

__attribute__((noinline)) static void clear(unsigned char *p, size_t n)
{
    memset(p, 0, n);
    __asm__ volatile("" : : "r"(p) : "memory");
}

int main(void)
{
    volatile size_t n = 6000;
    unsigned char *p = zeroed(n);
    clear(p, n);
    unsigned sum = 0;
    for (int i = 0; i < 6000; i++)
        p[i] = (unsigned char)(i * 7 + 3);
    for (int i = 0; i < 6000; i++)
        sum = sum * 31 + p[i];
    printf("%u\n", sum);
    free(p);
    return 0;
}
