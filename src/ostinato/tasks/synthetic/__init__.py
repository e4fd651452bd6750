"""Problems that are generated to test memory: no data, any length."""
