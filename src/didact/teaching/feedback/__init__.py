"""Other feedback than demonstrations in lessons: its rows, its check, and the cheapest mix."""
