"""Files: JSON read strictly, folders that appear whole, packages that are extras."""
