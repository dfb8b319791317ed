"""Kill the process at random moments; nothing may be lost, doubled or paid twice.

``make crash`` runs 200 kills; ``test_crash.py`` a few.
"""
