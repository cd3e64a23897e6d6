// A block zeroed before a fork is wholly overwritten by the child and partly by the parent: only the latter counts.
// site: zeroed mostly calls=1 zeroed=9000 overwritten=3000 kept=6000

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static unsigned char *zeroed(size_t n)
{
    unsigned char *p = calloc(n, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

__attribute__((noinline)) static unsigned fill(unsigned char *p, int n, int factor)
{
    unsigned sum = 0;
    for (int i = 0; i < n; i++)
        p[i] = (unsigned char)(i * factor + 1);
    for (int i = 0; i < n; i++)
        sum = sum * 31 + p[i];
    return sum;
}

int main(void)
{
    unsigned char *p = zeroed(9000);
    pid_t pid = fork();
    if (pid == 0) {
        printf("child %u\n", fill(p, 9000, 5));
        fflush(stdout);
        _exit(0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    printf("parent %u, child ended with %d\n", fill(p, 3000, 3), status);
    free(p);
    return 0;
}
