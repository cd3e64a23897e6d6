// std::vector<char>(n) is wholly overwritten.
// site: zeroed superfluous calls=1 zeroed=44999 overwritten=44999 kept=0
// older site: zeroed superfluous calls=1 zeroed=45000 overwritten=45000 kept=0

#include <cstdio>
#include <vector>

// libstdc++ stores the first of 45,000 zeros itself and clears the rest by memset.
__attribute__((noinline)) static std::vector<char> zeroed(std::size_t n)
{
    return std::vector<char>(n);
}

int main()
{
    std::vector<char> buffer = zeroed(45000);
    unsigned sum = 0;
    for (std::size_t i = 0; i < buffer.size(); i++)
        buffer[i] = static_cast<char>(i * 7 + 1);
    for (char c : buffer)
        sum = sum * 31 + static_cast<unsigned char>(c);
    std::printf("%u\n", sum);
}
