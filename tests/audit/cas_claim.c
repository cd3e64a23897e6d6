// Zeroed slots are claimed by compare-and-swap, which succeeds because they are zero.
// site: slots needed calls=1 zeroed=800 overwritten=600 kept=200

#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static int *slots(size_t n)
{
    int *p = calloc(n, sizeof *p);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

__attribute__((noinline)) static int claim(int *slot, int owner)
{
    return __sync_bool_compare_and_swap(slot, 0, owner);
}

int main(void)
{
    int *p = slots(200);
    int claimed = 0;
    // Each of 150 slots is tried twice, with an owner of four bytes none of which is 0.
    for (int i = 0; i < 300; i++)
        if (claim(&p[i % 150], 0x01010101 * (i % 100 + 1)))
            claimed++;
    printf("%d\n", claimed);
    free(p);
    return 0;
}
