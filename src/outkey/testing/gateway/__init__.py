"""`FakeGateway`: requests of an application's tests, without a network."""
