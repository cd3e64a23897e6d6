// A buffer is overwritten in part by copies of another's zeros, which nobody reads: they count as overwritten.
// site: target mostly calls=1 zeroed=2000 overwritten=1700 kept=300
// site: source kept calls=1 zeroed=3000 overwritten=0 kept=3000

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static unsigned char *source(size_t n)
{
    unsigned char *p = calloc(n, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

__attribute__((noinline)) static unsigned char *target(size_t n)
{
    unsigned char *p = calloc(n, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

int main(void)
{
    volatile size_t n = 1200;
    unsigned char *from = source(3000);
    unsigned char *to = target(2000);
    memcpy(to, from, n);
    for (int i = 1200; i < 1700; i++)
        to[i] = (unsigned char)(i * 7 + 1);
    __asm__ volatile("" : : "r"(to) : "memory");
    unsigned sum = 0;
    for (int i = 1200; i < 1700; i++)
        sum = sum * 31 + to[i];
    printf("%u\n", sum);
    free(to);
    free(from);
    return 0;
}
