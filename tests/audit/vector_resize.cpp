// A std::vector<char> is resized twice: the second time part of the new tail keeps its zeros.
// site: grow mostly calls=2 zeroed=9998 overwritten=8999 kept=999
// older site: grow mostly calls=2 zeroed=10000 overwritten=9001 kept=999

#include <cstdio>
#include <vector>

// 4,000 and 6,000 zeros: libstdc++ stores the first of them itself and clears the rest by memset.
__attribute__((noinline)) static std::size_t grow(std::vector<unsigned char> &buffer, std::size_t n)
{
    std::size_t before = buffer.size();
    buffer.resize(n);
    return before;
}

int main()
{
    volatile std::size_t sizes[] = {4000, 10000}, used[] = {4000, 9001};
    std::vector<unsigned char> buffer;
    for (int k = 0; k < 2; k++) {
        std::size_t from = grow(buffer, sizes[k]);
        for (std::size_t i = from; i < used[k]; i++)
            buffer[i] = static_cast<unsigned char>(i * 7 + 1);
    }
    unsigned sum = 0;
    for (std::size_t i = 0; i < 9001; i++)
        sum = sum * 31 + buffer[i];
    std::printf("%u\n", sum);
}
