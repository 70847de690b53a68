# cmake -DFILE=... -DNAME=... -DHEADER=... -DTO=... -P embed.cmake: write the bytes of FILE as a C
# array NAME, and how many they are as NAME_size. HEADER declares both.
file(READ "${FILE}" bytes HEX)
string(LENGTH "${bytes}" size)
math(EXPR size "${size} / 2")
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
file(WRITE "${TO}" "#include \"${HEADER}\"\n\nconst size_t ${NAME}_size = ${size};\n"
  "const char ${NAME}[] = {\n${bytes}\n};\n")
