"""Send messages about changes to webhooks, which may not be in the service's own network."""
