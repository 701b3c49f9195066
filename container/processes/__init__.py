"""How a process of a topology comes to be: forked from a warm zygote, or started anew; its role and title.

Begin with zygote_client.py, the executor's side.
"""
