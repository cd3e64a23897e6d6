// A zeroed buffer is wholly overwritten by a memset with another byte, which is no zeroing.
// site: zeroed superfluous calls=1 zeroed=12000 overwritten=12000 kept=0

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static unsigned char *zeroed(size_t n)
{
    unsigned char *p = calloc(n, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

__attribute__((noinline)) static void paint(unsigned char *p, int byte, size_t n)
{
    memset(p, byte, n);
    __asm__ volatile("" : : "r"(p) : "memory");
}

int main(void)
{
    volatile size_t n = 12000;
    volatile int byte = 0x55;
    unsigned char *p = zeroed(n);
    paint(p, byte, n);
    unsigned sum = 0;
    for (int i = 0; i < 12000; i++)
        sum = sum * 31 + p[i];
    printf("%u\n", sum);
    free(p);
    return 0;
}
