"""What is wrong or risky: checks, findings and conditions."""
