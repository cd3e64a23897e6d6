// The middle of a malloc'd block is cleared by memset: what is written outside of it does not count.
// site: clear mostly calls=1 zeroed=3000 overwritten=2000 kept=1000

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static void clear(unsigned char *p, size_t n)
{
    memset(p, 0, n);
    __asm__ volatile("" : : "r"(p) : "memory");
}

int main(void)
{
    volatile size_t n = 3000;
    unsigned char *p = malloc(10000);
    __asm__ volatile("" : "+r"(p) : : "memory");
    clear(p + 2000, n);
    unsigned sum = 0;
    // The zeroed part is 2000..5000.
    for (int i = 500; i < 4000; i++)
        p[i] = (unsigned char)(i * 7 + 1);
    for (int i = 6000; i < 10000; i++)
        p[i] = (unsigned char)(i * 3 + 1);
    __asm__ volatile("" : : "r"(p) : "memory");
    for (int i = 500; i < 4000; i++)
        sum = sum * 31 + p[i] + p[i + 6000];
    printf("%u\n", sum);
    free(p);
    return 0;
}
