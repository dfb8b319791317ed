"""The resident process: it has imported all that common commands need, and forks to run one."""
