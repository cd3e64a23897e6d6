// A calloc'd block is cut from 2,000 to 800 bytes: of the cut tail 100 bytes were overwritten, then the rest is.
// site: zeroed mostly calls=1 zeroed=2000 overwritten=900 kept=1100

#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static unsigned char *zeroed(size_t n)
{
    unsigned char *p = calloc(n, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

__attribute__((noinline)) static unsigned char *cut(unsigned char *p, size_t n)
{
    p = realloc(p, n);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

int main(void)
{
    unsigned char *p = zeroed(2000);
    unsigned sum = 0;
    for (int i = 1500; i < 1600; i++)
        p[i] = (unsigned char)(i * 3 + 1);
    for (int i = 1500; i < 1600; i++)
        sum = sum * 31 + p[i];
    p = cut(p, 800);
    for (int i = 0; i < 800; i++)
        p[i] = (unsigned char)(i * 5 + 1);
    for (int i = 0; i < 800; i++)
        sum = sum * 31 + p[i];
    printf("%u\n", sum);
    free(p);
    return 0;
}
