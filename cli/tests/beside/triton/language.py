"""See `triton`."""

float32 = "float32"


class constexpr:
    def __init__(self, value):
        self.value = value
