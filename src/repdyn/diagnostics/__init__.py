"""The five papers' diagnostics on a user's own torch network.

Functions come from the modules of this package, not from the package, whose name `measure` is a module::

    from repdyn.diagnostics.measure import Recorder, measure, names
    from repdyn.diagnostics.compare import compare
    from repdyn.diagnostics.summary import summarize, words
    from repdyn.diagnostics.training_summary import summarize_training
"""
