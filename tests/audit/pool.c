// Slices of one big block are cleared by memset when they are given out, and wholly overwritten; all are reused once.
// site: slice superfluous calls=80 zeroed=120000 overwritten=120000 kept=0

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *pool;
static size_t used;

__attribute__((noinline)) static unsigned char *slice(size_t n)
{
    unsigned char *p = pool + used;
    used += n;
    memset(p, 0, n);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

int main(void)
{
    volatile size_t n = 1500;
    volatile int slices = 80;
    pool = malloc(1 << 20);
    unsigned sum = 0;
    for (int k = 0; k < slices; k++) {
        if (k == 40)
            used = 0;
        unsigned char *p = slice(n);
        for (int i = 0; i < 1500; i++)
            p[i] = (unsigned char)(i * (2 * k + 1) + 1);
        __asm__ volatile("" : : "r"(p) : "memory");
        for (int i = 0; i < 1500; i++)
            sum = sum * 31 + p[i];
    }
    printf("%u\n", sum);
    free(pool);
    return 0;
}
