// A calloc'd block is copied, and the copy is never read: a copy alone is not a use.
// site: zeroed kept calls=1 zeroed=4500 overwritten=0 kept=4500

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static unsigned char *zeroed(size_t n)
{
    unsigned char *p = calloc(n, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

__attribute__((noinline)) static unsigned char *copied(const unsigned char *from, size_t n)
{
    unsigned char *p = malloc(n);
    memcpy(p, from, n);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

int main(void)
{
    volatile size_t n = 4500;
    unsigned char *p = zeroed(n);
    unsigned char *q = copied(p, n);
    unsigned sum = 0;
    for (unsigned i = 0; i < 200; i++)
        sum = sum * 31 + i;
    printf("%u\n", sum);
    free(q);
    free(p);
    return 0;
}
