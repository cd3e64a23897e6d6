// std::make_unique<unsigned char[]>(n) is partly overwritten.
// site: zeroed mostly calls=1 zeroed=21000 overwritten=20500 kept=500

#include <cstdio>
#include <memory>

// As at -O2: without it the zeroing is a loop of stores, not a call of memset.
#pragma GCC optimize("tree-loop-distribute-patterns")

__attribute__((noinline)) static std::unique_ptr<unsigned char[]> zeroed(std::size_t n)
{
    return std::make_unique<unsigned char[]>(n);
}

int main()
{
    std::unique_ptr<unsigned char[]> p = zeroed(21000);
    unsigned sum = 0;
    for (int i = 500; i < 21000; i++)
        p[i] = static_cast<unsigned char>(i * 7 + 1);
    for (int i = 500; i < 21000; i++)
        sum = sum * 31 + p[i];
    std::printf("%u\n", sum);
}
