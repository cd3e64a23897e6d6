// A buffer is wholly overwritten by copies of another's zeros, and the copies are tested: the other's zeros are used.
// site: target superfluous calls=1 zeroed=2000 overwritten=2000 kept=0
// site: source needed calls=1 zeroed=3000 overwritten=0 kept=3000

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
    volatile size_t n = 2000;
    unsigned char *from = source(3000);
    unsigned char *to = target(2000);
    memcpy(to, from + 500, n);
    int count = 0;
    for (int i = 0; i < 2000; i++) {
        if (to[i] == 0)
            count += 2;
        __asm__ volatile("" : "+r"(count));
    }
    printf("%d\n", count);
    free(to);
    free(from);
    return 0;
}
