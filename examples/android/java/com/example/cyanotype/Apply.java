package com.example.cyanotype;

import java.nio.ByteBuffer;

/** Applies a graph to four pixels, as c/apply.c does. The test in tests/languages.rs builds and runs it. */
final class Apply {
    public static void main(String[] arguments) {
        byte[] pixels = {0, 0, 0, -1, -1, -1, -1, -1, 10, 20, 30, -1, 0, 0, 0, 0};
        boolean isDirect = arguments.length < 2 || !arguments[1].equals("on the heap");
        ByteBuffer buffer = isDirect ? ByteBuffer.allocateDirect(pixels.length) : ByteBuffer.allocate(pixels.length);
        buffer.put(pixels);
        String error = Cyanotype.apply(arguments[0], buffer, 2, 2);
        if (error != null) {
            System.err.println(error);
            System.exit(1);
        }
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < pixels.length; i++) line.append(buffer.get(i) & 0xff).append(' ');
        System.out.println(line.toString().trim());
    }
}
