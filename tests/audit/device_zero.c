// A zeroed buffer is filled from /dev/zero: the kernel overwrites zeros with zeros, and it is the latter that are read.
// site: zeroed superfluous calls=1 zeroed=30000 overwritten=30000 kept=0

#include <fcntl.h>
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
    unsigned char *p = zeroed(30000);
    int fd = open("/dev/zero", O_RDONLY);
    size_t filled = 0;
    while (filled < 30000) {
        ssize_t n = read(fd, p + filled, 30000 - filled);
        if (n <= 0)
            return 1;
        filled += (size_t)n;
    }
    close(fd);
    int count = 0;
    for (int i = 0; i < 30000; i++) {
        if (p[i] == 0)
            count++;
        __asm__ volatile("" : "+r"(count));
    }
    printf("%d\n", count);
    free(p);
    return 0;
}
