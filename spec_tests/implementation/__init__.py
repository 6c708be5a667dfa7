"""The implementation under test: how it is found and loaded, how its arrays are made and read, how its calls are guarded."""
