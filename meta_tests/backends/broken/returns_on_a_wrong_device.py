"""A result on another device, where no values are."""

framework = "torch"
dtypes = ("float32",)


def relu(x):
    return x.clamp(min=0)


def sigmoid(x):
    return x.to("meta")
