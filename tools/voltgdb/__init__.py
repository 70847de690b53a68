"""Commands of gdb for programs with volt. tools/volt_gdb.py loads them."""
