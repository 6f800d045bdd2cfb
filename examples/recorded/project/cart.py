"""A shopping cart."""


def discount(total, percent):
    """What a discount of so many percent takes off a total, in cents."""
    return total * percent // 10


def total(prices, percent=0):
    """What the goods cost after the discount, in cents; never less than nothing."""
    amount = sum(prices)
    return amount - discount(amount, percent)


def receipt(goods, percent=0):
    """A line for each of the goods, and the total."""
    lines = [f"{name}: {price / 100:.2f}" for name, price in goods.items()]
    lines.append(f"total: {total(goods.values(), percent) / 100:.2f}")
    return lines
