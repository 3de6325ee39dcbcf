"""The evidence: the methods compared on real tables, over several seeds."""
