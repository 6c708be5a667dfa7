"""The backend in a process of its own: it is sent arguments and sends back answers, and knows nothing else of the suite."""
