"""Uploaders: where packages for containers on other machines are put."""
