// new char[n]() is wholly overwritten.
// site: zeroed superfluous calls=1 zeroed=33000 overwritten=33000 kept=0

#include <cstddef>
#include <cstdio>

// As at -O2: without it the zeroing is a loop of stores, not a call of memset.
#pragma GCC optimize("tree-loop-distribute-patterns")

__attribute__((noinline)) static char *zeroed(std::size_t n)
{
    char *p = new char[n]();
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

int main()
{
    char *p = zeroed(33000);
    unsigned sum = 0;
    for (int i = 0; i < 33000; i++)
        p[i] = static_cast<char>(i * 7 + 1);
    for (int i = 0; i < 33000; i++)
        sum = sum * 31 + static_cast<unsigned char>(p[i]);
    std::printf("%u\n", sum);
    delete[] p;
}
