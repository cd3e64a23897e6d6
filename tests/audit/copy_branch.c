// A calloc'd block is copied and freed, and the copy is tested by branches: the zeros are used by way of the copy.
// site: zeroed needed calls=1 zeroed=5000 overwritten=0 kept=5000

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static unsigned char *zeroed(size_t n)
{
    unsigned char *p = calloc(n, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

__attribute__((noinline)) static unsigned char *copied(const unsigned char *from, size_t n)
{
    unsigned char *p = malloc(n);
    memcpy(p, from, n);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

int main(void)
{
    volatile size_t n = 5000;
    unsigned char *p = zeroed(n);
    unsigned char *q = copied(p, n);
    free(p);
    int count = 0;
    for (int i = 0; i < 5000; i += 10) {
        if (q[i] == 0)
            count += 3;
        __asm__ volatile("" : "+r"(count));
    }
    printf("%d\n", count);
    free(q);
    return 0;
}
