/* main.c: the program. */
int main(void) { return 0; }
