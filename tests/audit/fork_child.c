// Parent and child of a fork zero and overwrite a new buffer each; the child ends by _exit.
// site: in_parent superfluous calls=1 zeroed=20000 overwritten=20000 kept=0
// site: in_child superfluous calls=1 zeroed=7000 overwritten=7000 kept=0 child

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static unsigned char *in_parent(size_t n)
{
    unsigned char *p = calloc(n, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

__attribute__((noinline)) static unsigned char *in_child(size_t n)
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
    pid_t pid = fork();
    if (pid == 0) {
        unsigned char *q = in_child(7000);
        printf("child %u\n", fill(q, 7000, 5));
        fflush(stdout);
        free(q);
        _exit(0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    unsigned char *p = in_parent(20000);
    printf("parent %u, child ended with %d\n", fill(p, 20000, 3), status);
    free(p);
    return 0;
}
