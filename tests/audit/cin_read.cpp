// A zeroed std::string is the target of std::cin.read, which fills 66 of its 100 bytes; only those are printed.
// stdin: The quick brown fox jumps over the lazy dog, and the dog sleeps on until the evening.
// site: zeroed mostly calls=1 zeroed=100 overwritten=66 kept=34

#include <iostream>
#include <string>

__attribute__((noinline)) static std::string zeroed(std::size_t n)
{
    return std::string(n, '\0');
}

int main()
{
    std::string text = zeroed(100);
    std::cin.read(&text[0], 66);
    std::cout.write(text.data(), std::cin.gcount());
    std::cout << '\n' << std::cin.gcount() << '\n';
}
