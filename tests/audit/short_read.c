// A read(2) into a too large buffer gives 1,000 bytes: the tail stays as it is and is never used.
// site: zeroed mostly calls=1 zeroed=65536 overwritten=1000 kept=64536

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
    unsigned char data[1000];
    int ends[2];
    for (int i = 0; i < 1000; i++)
        data[i] = (unsigned char)(i * 11 + 1);
    if (pipe(ends) != 0 || write(ends[1], data, sizeof data) != 1000)
        return 1;
    unsigned char *p = zeroed(65536);
    ssize_t n = read(ends[0], p, 65536);
    unsigned sum = 0;
    for (ssize_t i = 0; i < n; i++)
        sum = sum * 31 + p[i];
    printf("%ld %u\n", (long)n, sum);
    free(p);
    return 0;
}
