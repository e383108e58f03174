"""Studies: from a contract to a table that can be trusted.

contract.py   the file that says beforehand what a study must consist of
matrix.py     the planned runs, what they cost, and what they can show
models.py     models by the names that contracts have for them; the judge
upstream.py   the model of an Inspect sample behind the gateway
ledger.py     what a study's folder holds: plan, attempts, records, verdicts
run.py        the runs themselves, as Inspect tasks
"""
