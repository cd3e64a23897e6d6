// An exception is thrown when 1,100 of 3,200 bytes are overwritten, and caught in main: unwinding frees the buffer.
// site: zeroed mostly calls=1 zeroed=3200 overwritten=1100 kept=2100

#include <cstdio>
#include <stdexcept>
#include <vector>

// std::vector<char>(n, 0), unlike (n), clears all n bytes by memset.
__attribute__((noinline)) static std::vector<unsigned char> zeroed(std::size_t n)
{
    return std::vector<unsigned char>(n, 0);
}

__attribute__((noinline)) static unsigned char item(unsigned i)
{
    if (i == 1100)
        throw std::runtime_error("no more items");
    return static_cast<unsigned char>(i * 7 + 1);
}

static unsigned sum;

__attribute__((noinline)) static void fill(std::size_t n)
{
    std::vector<unsigned char> buffer = zeroed(n);
    for (unsigned i = 0; i < n; i++) {
        buffer[i] = item(i);
        sum = sum * 31 + buffer[i];
    }
}

int main()
{
    try {
        fill(3200);
    } catch (const std::runtime_error &error) {
        std::printf("%s %u\n", error.what(), sum);
    }
}
