// Eight std::threads zero a buffer each, and thread k overwrites (k + 1) * 500 bytes of its 4,000.
// site: zeroed mostly calls=8 zeroed=32000 overwritten=18000 kept=14000

#include <cstdio>
#include <thread>
#include <vector>

__attribute__((noinline)) static std::vector<unsigned char> zeroed(std::size_t n)
{
    return std::vector<unsigned char>(n, 0);
}

static void work(unsigned k, unsigned *result)
{
    std::vector<unsigned char> buffer = zeroed(4000);
    for (std::size_t i = 0; i < (k + 1) * 500; i++)
        buffer[i] = static_cast<unsigned char>(i * (2 * k + 1) + 1);
    for (std::size_t i = 0; i < (k + 1) * 500; i++)
        *result = *result * 31 + buffer[i];
}

int main()
{
    std::vector<std::thread> threads;
    unsigned results[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    for (unsigned k = 0; k < 8; k++)
        threads.emplace_back(work, k, &results[k]);
    for (std::thread &thread : threads)
        thread.join();
    for (unsigned result : results)
        std::printf("%u\n", result);
}
