"""What people and programs see of a topology: tables, lines, progress, JSON."""
