"""TeaFarm: is an agent fooled about its past? Theanine (NAACL 2025), section 5."""

from theanine_bench.teafarm.report import Report
from theanine_bench.teafarm.run import TeaFarmConfig, run_teafarm

__all__ = ["Report", "TeaFarmConfig", "run_teafarm"]
