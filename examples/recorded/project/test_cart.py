import unittest

from cart import discount, receipt, total


class DiscountTest(unittest.TestCase):
    def test_takes_a_tenth_off(self):
        self.assertEqual(discount(2000, 10), 200)

    def test_of_nothing_is_nothing(self):
        self.assertEqual(discount(2000, 0), 0)


class TotalTest(unittest.TestCase):
    def test_adds_prices(self):
        self.assertEqual(total([1250, 750]), 2000)

    def test_is_less_by_the_discount(self):
        self.assertEqual(total([1250, 750], percent=25), 1500)


class ReceiptTest(unittest.TestCase):
    def test_ends_with_the_total(self):
        self.assertEqual(receipt({"tea": 1250, "cup": 750}, percent=5)[-1], "total: 19.00")
