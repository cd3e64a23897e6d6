// The tail of a calloc'd block is cleared again by memset, and both are partly overwritten.
// site: zeroed mostly calls=1 zeroed=6000 overwritten=4000 kept=2000
// site: clear mostly calls=1 zeroed=2000 overwritten=1000 kept=1000

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
    volatile size_t tail = 2000;
    unsigned char *p = zeroed(6000);
    // calloc's: 0..2000 overwritten here, 2000..4000 kept, 4000..6000 overwritten by the second zeroing.
    unsigned sum = fill(p, 2000, 3);
    clear(p + 4000, tail);
    sum += fill(p + 5000, 1000, 5);
    printf("%u\n", sum);
    free(p);
    return 0;
}
