// The program wholly overwrites a buffer, then replaces itself with /bin/echo through execv.
// site: zeroed superfluous calls=1 zeroed=15000 overwritten=15000 kept=0

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
    unsigned char *p = zeroed(15000);
    unsigned sum = 0;
    for (int i = 0; i < 15000; i++)
        p[i] = (unsigned char)(i * 13 + 1);
    for (int i = 0; i < 15000; i++)
        sum = sum * 31 + p[i];
    printf("%u\n", sum);
    fflush(stdout);
    char *arguments[] = {"echo", "replaced", NULL};
    execv("/bin/echo", arguments);
    return 1;
}
