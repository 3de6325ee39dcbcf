"""The forecaster in the shape that other libraries expect; each adapter needs its own extra."""
