"""A topology for people and programs: tables, lines, progress, JSON."""
