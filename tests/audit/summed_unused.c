// The zeros are added up, but nothing depends on the sum: computing alone is not a use.
// site: zeroed kept calls=1 zeroed=4000 overwritten=0 kept=4000

#include <stdio.h>
#include <stdlib.h>

static volatile unsigned sink;

__attribute__((noinline)) static unsigned char *zeroed(size_t n)
{
    unsigned char *p = calloc(n, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

int main(void)
{
    unsigned char *p = zeroed(4000);
    unsigned sum = 0, other = 0;
    for (unsigned i = 0; i < 4000; i++) {
        sum = sum * 31 + p[i];
        other = other * 31 + i;
    }
    sink = sum;
    printf("%u\n", other);
    free(p);
    return 0;
}
