// A zeroed buffer is compared 16 bytes at a time by SSE2 instructions, and nothing of it is overwritten.
// site: zeroed needed calls=1 zeroed=4096 overwritten=0 kept=4096

#include <emmintrin.h>
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
    unsigned char *p = zeroed(4096);
    int equal = 0;
    for (int i = 0; i < 4096; i += 16) {
        __m128i chunk = _mm_loadu_si128((const __m128i *)(p + i));
        if (_mm_movemask_epi8(_mm_cmpeq_epi8(chunk, _mm_setzero_si128())) == 0xffff)
            equal++;
        __asm__ volatile("" : "+r"(equal));
    }
    printf("%d\n", equal);
    free(p);
    return 0;
}
