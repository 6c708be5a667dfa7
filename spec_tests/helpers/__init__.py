"""What several law files share: the meanings of "equal", attention, the batch, elementwise gradients."""
