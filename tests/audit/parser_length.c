// A parser reads the length field of a message and then only so many bytes of a larger zeroed buffer.
// site: message mostly calls=1 zeroed=8192 overwritten=1002 kept=7190

#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static unsigned char *message(size_t n)
{
    unsigned char *p = calloc(n, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

__attribute__((noinline)) static void receive(unsigned char *p)
{
    p[0] = 1000 & 255;
    p[1] = 1000 >> 8;
    for (int i = 0; i < 1000; i++)
        p[2 + i] = (unsigned char)(i * 7);
}

__attribute__((noinline)) static unsigned parse(const unsigned char *p)
{
    int length = p[0] | p[1] << 8;
    unsigned sum = 0;
    for (int i = 0; i < length; i++)
        sum = sum * 31 + p[2 + i];
    return sum;
}

int main(void)
{
    unsigned char *p = message(8192);
    receive(p);
    printf("%u\n", parse(p));
    free(p);
    return 0;
}
