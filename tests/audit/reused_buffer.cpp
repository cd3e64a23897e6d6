// A buffer is zeroed when made and cleared by std::fill before each of three rounds that overwrite all of it.
// site: made superfluous calls=1 zeroed=5600 overwritten=5600 kept=0
// site: clear superfluous calls=3 zeroed=16800 overwritten=16800 kept=0

#include <algorithm>
#include <cstdio>
#include <vector>

__attribute__((noinline)) static std::vector<unsigned char> made(std::size_t n)
{
    return std::vector<unsigned char>(n, 0);
}

__attribute__((noinline)) static void clear(std::vector<unsigned char> &buffer)
{
    std::fill(buffer.begin(), buffer.end(), static_cast<unsigned char>(0));
    __asm__ volatile("" : : : "memory");
}

int main()
{
    std::vector<unsigned char> buffer = made(5600);
    volatile unsigned rounds = 3;
    unsigned sum = 0;
    for (unsigned k = 0; k < rounds; k++) {
        clear(buffer);
        for (std::size_t i = 0; i < buffer.size(); i++)
            buffer[i] = static_cast<unsigned char>(i * (2 * k + 1) + 1);
        for (unsigned char c : buffer)
            sum = sum * 31 + c;
    }
    std::printf("%u\n", sum);
}
