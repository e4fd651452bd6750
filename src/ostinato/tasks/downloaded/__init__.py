"""Tasks on data sets that are downloaded: digits and chorales."""
