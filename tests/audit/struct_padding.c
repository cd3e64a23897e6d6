// All fields of calloc'd structs are overwritten, their padding is kept.
// args: --min 1
// site: new_record mostly calls=3 zeroed=72 overwritten=45 kept=27

#include <stdio.h>
#include <stdlib.h>

// 1 + 4 + 2 + 8 = 15 bytes of fields and 3 + 6 = 9 of padding.
struct record {
    char tag;
    int value;
    short code;
    double weight;
};

__attribute__((noinline)) static struct record *new_record(void)
{
    struct record *r = calloc(1, sizeof(struct record));
    __asm__ volatile("" : "+r"(r) : : "memory");
    return r;
}

int main(void)
{
    volatile int rounds = 3;
    for (int i = 1; i <= rounds; i++) {
        struct record *r = new_record();
        r->tag = (char)('a' + i);
        r->value = i * 1000003;
        r->code = (short)(i * 1001);
        r->weight = i * 1.125;
        __asm__ volatile("" : : "r"(r) : "memory");
        printf("%c %d %d %g\n", r->tag, r->value, r->code, r->weight);
        free(r);
    }
    return 0;
}
