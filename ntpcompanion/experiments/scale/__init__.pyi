from . import large_svm as large_svm
from . import large_descent as large_descent
from . import blocked_rounds as blocked_rounds
