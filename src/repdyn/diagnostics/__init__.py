"""The five papers' diagnostics on a user's own torch network.

The most used ones are `repdyn.measure`, `repdyn.Recorder`, `repdyn.compare` and `repdyn.summarize`; others come from
the modules of this package, not from the package, whose name `measure` is a module::

    from repdyn.diagnostics.measure import names
    from repdyn.diagnostics.summary import words
    from repdyn.diagnostics.training_summary import summarize_training
"""
