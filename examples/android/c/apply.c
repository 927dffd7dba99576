/* Applies a graph to four pixels: how C calls Cyanotype. The test in tests/languages.rs builds and runs it. */
#include "cyanotype.h"

#include <stdio.h>

int main(int count, char **arguments) {
    const char *graph = count > 1 ? arguments[1] : "invert";
    uint8_t pixels[16] = {0, 0, 0, 255, 255, 255, 255, 255, 10, 20, 30, 255, 0, 0, 0, 0};
    char error[200];
    if (cyanotype_apply(graph, pixels, 2, 2, error, sizeof error) != 0) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    for (int i = 0; i < 16; i++) printf("%d%c", pixels[i], i == 15 ? '\n' : ' ');
    return 0;
}
