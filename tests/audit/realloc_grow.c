// A calloc'd block of 1,000 bytes grows to 3,000 by realloc, and only then its first 1,000 bytes are overwritten.
// site: zeroed superfluous calls=1 zeroed=1000 overwritten=1000 kept=0

#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static unsigned char *zeroed(size_t n)
{
    unsigned char *p = calloc(n, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

__attribute__((noinline)) static unsigned char *grown(unsigned char *p, size_t n)
{
    p = realloc(p, n);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

int main(void)
{
    unsigned char *p = zeroed(1000);
    p = grown(p, 3000);
    unsigned sum = 0;
    // The bytes from 1,000 on were never zeroed: they do not count.
    for (int i = 0; i < 2200; i++)
        p[i] = (unsigned char)(i * 7 + 1);
    for (int i = 0; i < 2200; i++)
        sum = sum * 31 + p[i];
    printf("%u\n", sum);
    free(p);
    return 0;
}
