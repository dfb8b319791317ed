"""Whether two statements are linked, and how, without a language model; timelines of what is.

Nothing here knows a method; :mod:`theanine.methods.theanine.local_relate` judges with it.
"""
