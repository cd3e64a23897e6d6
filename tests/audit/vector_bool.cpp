// A std::vector<bool> of 8,000 bits is tested and set by words: the zeros are needed.
// site: flags needed calls=1 zeroed=1000 overwritten=600 kept=400

#include <cstdio>
#include <vector>

__attribute__((noinline)) static std::vector<bool> flags(std::size_t n)
{
    return std::vector<bool>(n);
}

__attribute__((noinline)) static bool first_time(std::vector<bool> &seen, std::size_t i)
{
    if (seen[i])
        return false;
    seen[i] = true;
    return true;
}

int main()
{
    std::vector<bool> seen = flags(8000);
    int count = 0;
    // 7 is prime to 4,800: each of the first 4,800 bits, which are 75 words of eight bytes, is set, then seen again.
    for (std::size_t i = 0; i < 9600; i++)
        if (first_time(seen, i * 7 % 4800))
            count++;
    std::printf("%d\n", count);
}
