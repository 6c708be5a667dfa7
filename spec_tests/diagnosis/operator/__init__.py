"""What code computes in place of the equation, said in the words of the operation, where no changed line of the equation is it.

`neighbouring_calls.py` and `other_results.py` change the call or the result of the right equation.
`reading.py` asks code that is linear in an argument for the matrix that it applies.
`coefficients.py` compares it with the right one.
Each change is an equation, which `../fit.py` judges on every answer with its own error bound, as it judges the catalogue's.
"""
