// Two callers share a helper that zeroes: one overwrites all it gets, the other tests the zeros. They are two sites.
// site: new_table superfluous calls=1 zeroed=2400 overwritten=2400 kept=0
// site: new_table needed calls=1 zeroed=1600 overwritten=0 kept=1600

#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static unsigned char *new_table(size_t n)
{
    unsigned char *p = calloc(n, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

__attribute__((noinline)) static unsigned overwrites(void)
{
    unsigned char *p = new_table(2400);
    unsigned sum = 0;
    for (int i = 0; i < 2400; i++)
        p[i] = (unsigned char)(i * 7 + 1);
    __asm__ volatile("" : : "r"(p) : "memory");
    for (int i = 0; i < 2400; i++)
        sum = sum * 31 + p[i];
    free(p);
    return sum;
}

__attribute__((noinline)) static unsigned tests(void)
{
    unsigned char *p = new_table(1600);
    unsigned sum = 0;
    for (int i = 0; i < 1600; i++) {
        if (p[i] == 0)
            sum += 2;
        __asm__ volatile("" : "+r"(sum));
    }
    free(p);
    return sum;
}

int main(void)
{
    unsigned first = overwrites();
    unsigned second = tests();
    printf("%u %u\n", first, second);
    return 0;
}
