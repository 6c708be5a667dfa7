"""What several law files share: assertions, drawn inputs, and bodies of laws that hold of several operations."""
