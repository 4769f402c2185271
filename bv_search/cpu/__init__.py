"""What only a CPU needs: compiled loops, the faster of two libraries of products, memory that is kept.

The mathematics stand in `heads` and `scan`, by torch's operations, as every other device has them. What is
here says the same faster; tests compare both.
"""
