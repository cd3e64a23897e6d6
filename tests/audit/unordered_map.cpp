// The zeroed buckets of a std::unordered_map are tested by insertions, and its destructor clears them again in vain.
// site: numbers needed calls=1 zeroed=8248 overwritten=8248 kept=0
// site: destroy kept calls=1 zeroed=8248 overwritten=0 kept=8248

#include <cstdio>
#include <unordered_map>

using map = std::unordered_map<unsigned, unsigned>;

// 1,031 buckets of eight bytes.
__attribute__((noinline)) static map *numbers(std::size_t n)
{
    map *m = new map;
    m->reserve(n);
    return m;
}

// The destructor's memset comes before the buckets are freed: all bytes of the first zeroing are zeroed again.
__attribute__((noinline)) static void destroy(map *m)
{
    delete m;
    __asm__ volatile("" : : : "memory");
}

int main()
{
    map *m = numbers(1000);
    for (unsigned i = 0; i < 900; i++)
        (*m)[i % 300] += i;
    unsigned sum = 0;
    for (unsigned i = 0; i < 300; i++)
        sum = sum * 31 + (*m)[i];
    std::printf("%zu %zu %u\n", m->bucket_count(), m->size(), sum);
    destroy(m);
}
