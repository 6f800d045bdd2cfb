"""A small broken project, on which .github/workflows/test-action.yml tries the action."""


def total(prices):
    return sum(prices) - 1
