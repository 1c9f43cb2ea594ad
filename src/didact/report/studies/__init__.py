"""Reports of studies: tables, figures, and the page that collects them."""
