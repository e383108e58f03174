"""The HTTP server: one small file a dialect, pages, gateway and control."""
