print("TensorBoard")
