// 100,000 blocks of 48 bytes are wholly overwritten, all alive at once.
// args: --min 1
// site: zeroed superfluous calls=100000 zeroed=4800000 overwritten=4800000 kept=0

#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 100000 };

__attribute__((noinline)) static unsigned long *zeroed(void)
{
    unsigned long *p = calloc(6, sizeof(unsigned long));
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

int main(void)
{
    unsigned long **blocks = malloc(COUNT * sizeof *blocks);
    unsigned long sum = 0;
    for (unsigned long k = 0; k < COUNT; k++) {
        blocks[k] = zeroed();
        for (unsigned long i = 0; i < 6; i++)
            blocks[k][i] = (k * 6 + i) * 0x9E3779B97F4A7C15ul;
    }
    for (unsigned long k = 0; k < COUNT; k++) {
        for (unsigned long i = 0; i < 6; i++)
            sum = sum * 31 + blocks[k][i];
        free(blocks[k]);
    }
    printf("%lu\n", sum);
    free(blocks);
    return 0;
}
