"""Networks and how they are trained: losses, banks, the loop, engines and methods. No pandas."""
