"""What people look at: tables, pictures, pages. Runs nothing."""
