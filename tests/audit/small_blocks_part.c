// Of 100,000 blocks of 40 bytes, allocated and freed one after the other, 24 bytes each are overwritten.
// args: --min 1
// site: zeroed mostly calls=100000 zeroed=4000000 overwritten=2400000 kept=1600000

#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static unsigned long *zeroed(void)
{
    unsigned long *p = calloc(1, 40);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

int main(void)
{
    unsigned long sum = 0;
    for (unsigned long k = 0; k < 100000; k++) {
        unsigned long *p = zeroed();
        p[0] = k + 1;
        p[1] = k * 3 + 1;
        p[3] = k * 0x9E3779B97F4A7C15ul;
        __asm__ volatile("" : : "r"(p) : "memory");
        sum = sum * 31 + p[0] + p[1] + p[3];
        free(p);
    }
    printf("%lu\n", sum);
    return 0;
}
