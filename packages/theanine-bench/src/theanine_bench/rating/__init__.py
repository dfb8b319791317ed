"""Rating by people: the papers' forms as local pages, several raters, majority and kappa."""
