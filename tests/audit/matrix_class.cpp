// The constructor of a class zeroes by calloc: one matrix is wholly overwritten, of the other only the diagonal.
// site: Matrix superfluous calls=1 zeroed=3200 overwritten=3200 kept=0
// site: Matrix mostly calls=1 zeroed=7200 overwritten=240 kept=6960

#include <cstdio>
#include <cstdlib>

class Matrix {
public:
    __attribute__((noinline)) explicit Matrix(std::size_t n)
        : n(n), items(static_cast<double *>(std::calloc(n * n, sizeof(double))))
    {
        __asm__ volatile("" : : "r"(items) : "memory");
    }
    ~Matrix() { std::free(items); }
    Matrix(const Matrix &) = delete;
    Matrix &operator=(const Matrix &) = delete;
    double &at(std::size_t i, std::size_t j) { return items[i * n + j]; }
    // Reads all items.
    __attribute__((noinline)) double sum() const
    {
        double sum = 0;
        for (std::size_t i = 0; i < n * n; i++)
            sum += items[i];
        return sum;
    }

private:
    std::size_t n;
    double *items;
};

__attribute__((noinline)) static double table()
{
    Matrix matrix(20);
    for (std::size_t i = 0; i < 20; i++)
        for (std::size_t j = 0; j < 20; j++)
            matrix.at(i, j) = 1.37 * static_cast<double>(i + 1) + 0.11 * static_cast<double>(j);
    return matrix.sum();
}

// The zeros beside the diagonal are used, but none of the 30 items of eight bytes that are overwritten was.
__attribute__((noinline)) static double diagonal()
{
    Matrix matrix(30);
    for (std::size_t i = 0; i < 30; i++)
        matrix.at(i, i) = 1.0 / (static_cast<double>(i) + 3.0);
    return matrix.sum();
}

int main()
{
    double first = table();
    std::printf("%.6f %.6f\n", first, diagonal());
}
