"""Load a profile of Hypothesis that tries one example and prints nothing."""

import hypothesis

hypothesis.settings.register_profile("quick", max_examples=1, derandomize=True, verbosity=hypothesis.Verbosity.quiet)
hypothesis.settings.load_profile("quick")
