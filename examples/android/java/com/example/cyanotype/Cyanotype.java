package com.example.cyanotype;

import java.nio.ByteBuffer;

/** Cyanotype for Java: what `docs/android.md` shows in Kotlin. */
public final class Cyanotype {
    static {
        System.loadLibrary("cyanotype_android");
    }

    private Cyanotype() {}

    /**
     * Applies a graph to RGBA pixels with premultiplied alpha, in place.
     *
     * @param pixels a direct buffer of at least width * height * 4 bytes
     * @return null, or what went wrong, with the pixels unchanged
     */
    public static native String apply(String graph, ByteBuffer pixels, int width, int height);
}
