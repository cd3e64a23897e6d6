// A calloc'd block is freed, neither overwritten nor read.
// site: zeroed kept calls=1 zeroed=3333 overwritten=0 kept=3333

#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static unsigned char *zeroed(size_t n)
{
    unsigned char *p = calloc(n, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

int main(void)
{
    unsigned char *p = zeroed(3333);
    unsigned sum = 0;
    for (unsigned i = 0; i < 100; i++)
        sum = sum * 31 + i;
    printf("%u\n", sum);
    free(p);
    return 0;
}
