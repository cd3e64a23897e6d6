// The program ends by _exit while a partly overwritten block is alive.
// exit: 5
// site: zeroed mostly calls=1 zeroed=2600 overwritten=2000 kept=600

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) static unsigned char *zeroed(size_t n)
{
    unsigned char *p = calloc(n, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

int main(void)
{
    unsigned char *p = zeroed(2600);
    unsigned sum = 0;
    for (int i = 300; i < 2300; i++)
        p[i] = (unsigned char)(i * 7 + 1);
    __asm__ volatile("" : : "r"(p) : "memory");
    for (int i = 300; i < 2300; i++)
        sum = sum * 31 + p[i];
    printf("%u\n", sum);
    fflush(stdout);
    _exit(5);
}
