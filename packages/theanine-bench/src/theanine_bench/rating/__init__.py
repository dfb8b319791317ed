"""Rating by people: the papers' forms as local web pages."""
