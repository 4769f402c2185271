"""A model of a run as a folder for others: weights, encoder, a card that says what it is worth, ONNX."""
