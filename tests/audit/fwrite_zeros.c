// A calloc'd buffer goes through the buffer of a stream: the copied zeros reach write(2) when the stream is closed.
// site: zeroed needed calls=1 zeroed=500 overwritten=0 kept=500

#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static unsigned char *zeroed(size_t n)
{
    unsigned char *p = calloc(n, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

int main(void)
{
    unsigned char *p = zeroed(500);
    FILE *f = fopen("/dev/null", "w");
    size_t n = fwrite(p, 1, 500, f);
    free(p);
    printf("%zu %d\n", n, fclose(f));
    return 0;
}
