// Two threads zero a buffer each, one by calloc and one by memset, and overwrite all and three quarters of it.
// site: zeroed_first superfluous calls=1 zeroed=30000 overwritten=30000 kept=0
// site: zeroed_second mostly calls=1 zeroed=20000 overwritten=15000 kept=5000

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static unsigned char *zeroed_first(size_t n)
{
    unsigned char *p = calloc(n, 1);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

__attribute__((noinline)) static unsigned char *zeroed_second(size_t n)
{
    unsigned char *p = malloc(n);
    __asm__ volatile("" : "+r"(p) : : "memory");
    memset(p, 0, n);
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

static void *first(void *result)
{
    unsigned char *p = zeroed_first(30000);
    *(unsigned *)result = fill(p, 30000, 3);
    free(p);
    return NULL;
}

static void *second(void *result)
{
    volatile size_t n = 20000;
    unsigned char *p = zeroed_second(n);
    *(unsigned *)result = fill(p, 15000, 5);
    free(p);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    unsigned results[2];
    pthread_create(&threads[0], NULL, first, &results[0]);
    pthread_create(&threads[1], NULL, second, &results[1]);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    printf("%u %u\n", results[0], results[1]);
    return 0;
}
