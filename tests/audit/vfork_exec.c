// A child by vfork becomes another program while a buffer is half written: only the parent accounts for the buffer.
// site: zeroed superfluous calls=1 zeroed=10000 overwritten=10000 kept=0

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static unsigned char *zeroed(size_t n)
{
    unsigned char *volatile p = calloc(n, 1);
    return p;
}

__attribute__((noinline)) static void fill(unsigned char *p, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        p[i] = (unsigned char)(i * 7 + 1);
}

int main(void)
{
    unsigned char *p = zeroed(10000);
    fill(p, 0, 4000);
    char *arguments[] = {"true", NULL};
    pid_t child = vfork();
    if (child == 0) {
        execv("/bin/true", arguments);
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    fill(p, 4000, 10000);
    unsigned sum = 0;
    for (size_t i = 0; i < 10000; i++)
        sum += p[i];
    printf("%d %u\n", WEXITSTATUS(status), sum);
    free(p);
    return 0;
}
