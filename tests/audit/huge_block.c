// One block of 256 MiB is overwritten by chunks of 4 KiB.
// site: zeroed superfluous calls=1 zeroed=268435456 overwritten=268435456 kept=0

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 4096, CHUNKS = 65536 };

__attribute__((noinline)) static unsigned char *zeroed(size_t n)
{
    unsigned char *p = calloc(n, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

int main(void)
{
    static unsigned char chunk[CHUNK];
    volatile size_t length = CHUNK;
    unsigned char *p = zeroed((size_t)CHUNK * CHUNKS);
    for (int i = 0; i < CHUNK; i++)
        chunk[i] = (unsigned char)(i * 7 % 255 + 1);
    for (size_t k = 0; k < CHUNKS; k++) {
        chunk[k % CHUNK] ^= (unsigned char)(k >> 4);
        memcpy(p + k * CHUNK, chunk, length);
    }
    unsigned sum = 0;
    for (size_t k = 0; k < CHUNKS; k++)
        sum = sum * 31 + p[k * CHUNK + k * 13 % CHUNK];
    printf("%u\n", sum);
    free(p);
    return 0;
}
