// The program calls abort when half of a buffer is overwritten.
// exit: 134
// site: zeroed mostly calls=1 zeroed=7400 overwritten=3700 kept=3700

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
    unsigned char *p = zeroed(7400);
    unsigned sum = 0;
    for (int i = 0; i < 7400; i++) {
        if (i == 3700) {
            printf("%u\n", sum);
            fflush(stdout);
            abort();
        }
        p[i] = (unsigned char)(i * 7 + 1);
        __asm__ volatile("" : : "r"(p) : "memory");
        sum = sum * 31 + p[i];
    }
    free(p);
    return 0;
}
