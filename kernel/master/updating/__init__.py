"""A change of plan: decide.py has the phases, act.py writes them in an order that is all or nothing."""
