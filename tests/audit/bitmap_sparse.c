// One bit is set in each byte of a zeroed bitmap, then all bits are tested: each byte is overwritten with its old bits.
// site: bitmap needed calls=1 zeroed=1000 overwritten=0 kept=1000

#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static unsigned char *bitmap(size_t n)
{
    unsigned char *p = calloc(n, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

__attribute__((noinline)) static void set(unsigned char *p, int bit)
{
    p[bit / 8] |= (unsigned char)(1 << (bit % 8));
}

__attribute__((noinline)) static int is_set(const unsigned char *p, int bit)
{
    return p[bit / 8] >> (bit % 8) & 1;
}

int main(void)
{
    unsigned char *p = bitmap(1000);
    for (int i = 0; i < 1000; i++)
        set(p, i * 8 + i % 8);
    unsigned sum = 0;
    for (int bit = 0; bit < 8000; bit++)
        if (is_set(p, bit))
            sum = sum * 31 + (unsigned)bit;
    printf("%u\n", sum);
    free(p);
    return 0;
}
