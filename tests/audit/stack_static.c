// Memory of the stack and of a static array is cleared by memset, which is not tracked; one heap block is.
// site: on_heap superfluous calls=1 zeroed=1234 overwritten=1234 kept=0

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char table[5000];

__attribute__((noinline)) static void clear(unsigned char *p, size_t n)
{
    memset(p, 0, n);
    __asm__ volatile("" : : "r"(p) : "memory");
}

__attribute__((noinline)) static unsigned char *on_heap(size_t n)
{
    unsigned char *p = calloc(n, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

__attribute__((noinline)) static unsigned fill(unsigned char *p, int n, int factor)
{
    unsigned sum = 0;
    for (int i = 0; i < n; i++)
        p[i] = (unsigned char)(i * factor + 1);
    for (int i = 0; i < n; i++)
        sum = sum * 31 + p[i];
    return sum;
}

int main(void)
{
    unsigned char local[3000];
    clear(table, sizeof table);
    clear(local, sizeof local);
    unsigned char *p = on_heap(1234);
    unsigned sum = fill(p, 1234, 3) + fill(table, 5000, 5) + fill(local, 1500, 7);
    for (int i = 1500; i < 3000; i++)
        sum += local[i];
    printf("%u\n", sum);
    free(p);
    return 0;
}
