"""Kill the process at random moments and check that nothing is lost, duplicated or paid twice.

``make crash`` runs 200 kills; ``test_crash.py`` runs a few.
"""
