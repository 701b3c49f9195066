"""What `heronpy bench` measures: words a second in word_rate.py, a query of NEXMark in nexmark_run.py."""
