from theanine.testing.contract import MethodContract


class TestFigures(MethodContract):
    name = "figures"
