// Half of a calloc'd block is overwritten, all is cleared by memset, then three quarters are overwritten.
// site: zeroed superfluous calls=1 zeroed=8000 overwritten=8000 kept=0
// site: clear mostly calls=1 zeroed=8000 overwritten=6000 kept=2000

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
    volatile size_t n = 8000;
    unsigned char *p = zeroed(n);
    unsigned sum = fill(p, 4000, 3);
    clear(p, n);
    sum += fill(p, 6000, 11);
    printf("%u\n", sum);
    free(p);
    return 0;
}
