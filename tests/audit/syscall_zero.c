// A calloc'd buffer is given to write(2) as it is: the zeros are used by a system call only.
// site: zeroed needed calls=1 zeroed=2222 overwritten=0 kept=2222

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
    unsigned char *p = zeroed(2222);
    int fd = open("/dev/null", O_WRONLY);
    printf("%ld\n", (long)write(fd, p, 2222));
    close(fd);
    free(p);
    return 0;
}
