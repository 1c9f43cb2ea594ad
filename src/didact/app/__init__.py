"""Use cases, one for each verb, shared by the command line and the studio."""
