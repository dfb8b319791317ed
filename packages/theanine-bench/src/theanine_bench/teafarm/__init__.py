"""TeaFarm: is an agent fooled about its past? Theanine (NAACL 2025), section 5."""
