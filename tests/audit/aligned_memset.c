// An aligned block is cleared by memset and overwritten but for its last 192 bytes.
// site: aligned mostly calls=1 zeroed=8192 overwritten=8000 kept=192

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static unsigned char *aligned(size_t n)
{
    unsigned char *p = aligned_alloc(64, n);
    __asm__ volatile("" : "+r"(p) : : "memory");
    memset(p, 0, n);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

int main(void)
{
    volatile size_t n = 8192;
    unsigned char *p = aligned(n);
    unsigned sum = 0;
    for (int i = 0; i < 8000; i++)
        p[i] = (unsigned char)(i * 7 + 1);
    for (int i = 0; i < 8000; i++)
        sum = sum * 31 + p[i];
    printf("%u\n", sum);
    free(p);
    return 0;
}
