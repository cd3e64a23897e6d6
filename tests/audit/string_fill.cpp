// std::string(n, '\0') is wholly filled: libstdc++.so clears it by memset.
// site: zeroed superfluous calls=1 zeroed=17000 overwritten=17000 kept=0

#include <cstdio>
#include <string>

__attribute__((noinline)) static std::string zeroed(std::size_t n)
{
    return std::string(n, '\0');
}

int main()
{
    std::string text = zeroed(17000);
    unsigned sum = 0;
    for (std::size_t i = 0; i < text.size(); i++)
        text[i] = static_cast<char>('a' + i * 7 % 26);
    for (char c : text)
        sum = sum * 31 + static_cast<unsigned char>(c);
    std::printf("%u %.20s\n", sum, text.c_str());
}
