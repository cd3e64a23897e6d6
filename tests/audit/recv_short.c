// recv is given a zeroed buffer and fills five bytes of it; the zero behind them ends a string.
// site: zeroed mostly calls=1 zeroed=4096 overwritten=5 kept=4091

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

__attribute__((noinline)) static char *zeroed(size_t n)
{
    char *volatile p = calloc(n, 1);
    return p;
}

int main(void)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || write(ends[1], "hello", 5) != 5)
        return 1;
    char *text = zeroed(4096);
    ssize_t received = recv(ends[0], text, 4095, 0);
    printf("%d %s %d\n", (int)received, text, (int)strlen(text));
    free(text);
    return 0;
}
